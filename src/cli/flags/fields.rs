//! Flags that stand for fields of a configuration.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::words::fields::render;

/// Fields that are parts of a flag, or of which flags are parts.
pub(in crate::cli) const OTHER_NAMES: [(&str, &str); 14] = [
    ("link", "task link"),
    ("link.split.val", "split val="),
    ("model.kind", "model"),
    ("model.kind.norm", "gcn-norm"),
    ("prediction", "output"),
    ("relations", "hetero"),
    ("relations.target", "target-type"),
    ("sampling", "mode sample"),
    ("schedule.factor", "schedule ...,factor"),
    ("schedule.gamma", "schedule ...,gamma"),
    ("schedule.min", "schedule ...,min"),
    ("schedule.patience", "schedule ...,patience"),
    ("schedule.step_size", "schedule ...,step_size"),
    ("schedule.t_max", "schedule ...,t_max"),
];

/// The flags of all commands, and fields with a flag of another name.
struct Names {
    flags: BTreeSet<String>,
    of_fields: Vec<(&'static str, &'static str)>,
}

static NAMES: OnceLock<Names> = OnceLock::new();

/// Notes the flags of a command line, and the fields that they set. Only the first call has an effect.
pub(in crate::cli) fn note_flags(
    definition: &clap::Command,
    of_fields: impl Iterator<Item = (&'static str, &'static str)>,
) {
    NAMES.get_or_init(|| {
        let commands = std::iter::once(definition).chain(definition.get_subcommands());
        let flags = commands.flat_map(clap::Command::get_arguments).filter_map(clap::Arg::get_long);
        Names { flags: flags.map(ToOwned::to_owned).collect(), of_fields: of_fields.collect() }
    });
}

/// A message of the library, with names of flags in place of fields.
pub(in crate::cli) fn with_flags(message: &str) -> String {
    render(message, |field, value| match (flag(field), value) {
        (Some(flag), Some(value)) if flag.ends_with('=') => format!("--{flag}{value}"),
        (Some(flag), Some(value)) => format!("--{flag} {value}"),
        (Some(flag), None) => format!("--{flag}"),
        (None, Some(value)) => format!("{field}={value}"),
        (None, None) => field.to_owned(),
    })
}

fn flag(field: &str) -> Option<String> {
    if let Some((_, flag)) = OTHER_NAMES.iter().find(|(other, _)| *other == field) {
        return Some((*flag).to_owned());
    }
    let names = NAMES.get()?;
    let setting = names.of_fields.iter().find(|(other, _)| *other == field);
    let name = setting.map(|(_, id)| *id).or(field.rsplit('.').next())?.replace('_', "-");
    names.flags.contains(&name).then_some(name)
}
