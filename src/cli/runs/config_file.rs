//! `--config`: another run's configuration, as default values of flags.

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgAction, ArgMatches, Command, value_parser};

use super::configuration_flags::flags;
use super::setting::Flag;
use crate::cli::flags::given::is_given;
use crate::cli::show::shell_word::shell_word;
use crate::io::read_input;
use crate::run::config::RunConfig;
use crate::words::error::{Error, Result};

const CONFIG: &str = "config";
const PART_JSON: &str = "part_json";
/// The only subcommand with the flag.
const PLAN: &str = "plan";

/// Flags of one run only, which its successors do not share.
const OF_ONE_RUN: [&str; 2] = ["out", "dump-step"];

/// A parser, and the words to parse.
pub(in crate::cli) struct CommandLine {
    pub(in crate::cli) definition: Command,
    pub(in crate::cli) words: Vec<OsString>,
}

/// The command line with defaults from the file that `--config` names; `None` without that flag.
pub(in crate::cli) fn with_defaults(
    definition: &Command,
    words: &[OsString],
) -> Result<Option<CommandLine>> {
    let is_config = |word: &OsString| word.as_encoded_bytes().starts_with(b"--config");
    if !words.iter().any(is_config) {
        return Ok(None);
    }
    let mut definition = with_values_of_switches(definition.clone());
    if definition.find_subcommand(PLAN).is_some() {
        definition = definition.mut_subcommand(PLAN, with_values_of_switches);
    }
    let lenient = definition.clone().ignore_errors(true);
    // The final parsing of the command line will report the mistake.
    let Ok(matches) = lenient.try_get_matches_from(words) else { return Ok(None) };
    let (name, given) = match matches.subcommand() {
        Some((name, given)) => (Some(name), given),
        None => (None, &matches),
    };
    if !is_given(given, CONFIG) || is_given(given, "resume") {
        return Ok(None);
    }
    let Some(file) = value(given, CONFIG) else { return Ok(None) };
    let config = read(Path::new(&file))?;
    let mut words = words.to_vec();
    let mut defaults = Vec::new();
    for flag in flags(&config)? {
        match flag.name.as_str() {
            name if OF_ONE_RUN.contains(&name) => {}
            // A default does not satisfy the parser where a flag is required.
            "part-json" if !is_given(given, PART_JSON) => words.push(flag.word().into()),
            "part-json" => {}
            _ => defaults.push(flag),
        }
    }
    let definition = match name {
        Some(name) => definition.mut_subcommand(name, |command| set_defaults(command, defaults)),
        None => set_defaults(definition, defaults),
    };
    Ok(Some(CommandLine { definition, words }))
}

/// The command with switches that take values next to a file: `--mfg=false` switches off a setting of the file.
fn with_values_of_switches(command: Command) -> Command {
    command.mut_args(|arg| match arg.get_action() {
        ArgAction::SetTrue => arg
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .value_parser(value_parser!(bool))
            .default_value("false")
            .default_missing_value("true"),
        _ => arg,
    })
}

fn value(given: &ArgMatches, id: &str) -> Option<OsString> {
    given.get_raw(id)?.next_back().map(ToOwned::to_owned)
}

fn set_defaults(command: Command, defaults: Vec<Flag>) -> Command {
    defaults.into_iter().fold(command, |command, flag| {
        let named = command.get_arguments().find(|arg| arg.get_long() == Some(&*flag.name));
        let Some(id) = named.map(|arg| arg.get_id().clone()) else { return command };
        let value = flag.value.unwrap_or_else(|| "true".to_owned());
        command.mut_arg(id, |arg| arg.default_value(value))
    })
}

fn read(path: &Path) -> Result<RunConfig> {
    let text = read_input(path).map_err(|e| {
        let error = Error::unreadable(path, &e);
        let file = path.join("config.toml");
        if !file.is_file() {
            return error;
        }
        error.with_hint(format!("name the file in it: --config {}", shell_word(&file)))
    })?;
    let takes = "--config takes the config.toml of a run, and --part-json a graph";
    RunConfig::from_toml(path, &text).map_err(|error| error.with_hint(takes))
}
