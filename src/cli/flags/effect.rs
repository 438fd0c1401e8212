//! Flags without an effect in a run, which are refused.

use clap::{Arg, ArgMatches, Command};

use super::given::is_given;
#[cfg(feature = "torch")]
use crate::cli::runs::{correct_and_smooth::WITHOUT_EFFECT, setting::Of, train::declared};
#[cfg(feature = "torch")]
use crate::nn::ModelKind;
use crate::words::error::{Error, ErrorKind, Result};

/// A condition under which some flags have an effect.
struct Rule {
    /// The flags, by their ids.
    flags: Vec<&'static str>,
    /// The condition for their effect.
    on: On,
}

/// A condition on another flag, by its id.
enum On {
    /// The flag has one of these values.
    Values(&'static str, Vec<&'static str>),
    /// The flag has any value but these.
    OtherValues(&'static str, Vec<&'static str>),
    /// One of the flags is given, or has a value without being given.
    Given(&'static [&'static str]),
    /// The flag is not given.
    NotGiven(&'static str),
}

/// Rules about parts that only some runs have, except for options of a kind of model, which the model declares itself.
#[cfg(feature = "torch")]
fn of_training() -> Vec<Rule> {
    let kinds = |without: fn(ModelKind) -> bool| {
        let kinds = ModelKind::all().into_iter().filter(|kind| without(*kind));
        On::OtherValues("model", kinds.map(|kind| kind.spec().name).collect())
    };
    let rule = |of, on| Rule { flags: ids(of).collect(), on };
    vec![
        rule(Of::HiddenLayers, kinds(|kind| !kind.spec().hidden_layers)),
        rule(Of::Stacks, kinds(|kind| !kind.is_stack())),
        rule(Of::Neighbours, kinds(ModelKind::propagates_once)),
        rule(Of::Links, On::Values("task", vec!["link"])),
        rule(Of::Samples, On::Values("mode", vec!["sample"])),
        rule(Of::Updates, On::NotGiven("dump_step")),
    ]
}

#[cfg(not(feature = "torch"))]
fn of_training() -> Vec<Rule> {
    Vec::new()
}

/// Ids of the settings of a part of a run.
#[cfg(feature = "torch")]
fn ids(of: Of) -> impl Iterator<Item = &'static str> {
    declared().filter(move |setting| setting.of.contains(&of)).map(|setting| setting.id)
}

/// Flags without an effect in a command, and the remedy.
#[cfg(feature = "torch")]
fn without_effect(command: &str) -> (Vec<&'static str>, &'static str) {
    match command {
        "plan" => (
            ids(Of::Results).collect(),
            "leave it out: plan writes no results and runs on one machine",
        ),
        "correct-and-smooth" => {
            (WITHOUT_EFFECT.to_vec(), "leave it out: the command improves classes of nodes")
        }
        _ => (Vec::new(), ""),
    }
}

/// Rules about two flags.
fn of_flags() -> Vec<Rule> {
    let rule = |flags: &[&'static str], on| Rule { flags: flags.to_vec(), on };
    vec![
        rule(&["reverse_etype"], On::Given(&["target_etype"])),
        rule(&["split"], On::NotGiven("train_mask_key")),
        rule(&["optimized_batches"], On::OtherValues("task", vec!["link"])),
        rule(&["spill_dtype"], On::Values("compute_dtype", vec!["f32"])),
        rule(&["overwrite"], On::Given(&["out", "dump_step", "trace"])),
        rule(&["of"], On::Given(&["top_k"])),
        rule(&["layer"], On::Values("output", vec!["embeddings"])),
        rule(&["assignment"], On::Values("method", vec!["file"])),
        rule(
            &["id", "label", "drop", "embed", "fill_missing", "scale"],
            On::Given(&["node_table"]),
        ),
    ]
}

/// Refuses given flags that have no effect.
pub(in crate::cli) fn check(command: &Command, given: &ArgMatches) -> Result<()> {
    let stands = |id: &&'static str| is_given(given, id);
    #[cfg(feature = "torch")]
    {
        let (ids, remedy) = without_effect(command.get_name());
        if let Some(id) = ids.into_iter().find(stands) {
            let name = command.get_name();
            let problem = format!("{} has no effect with {name}", flag(command, id));
            return Err(refused(problem, remedy.to_owned()));
        }
    }
    for Rule { flags: ids, on } in of_training().into_iter().chain(of_flags()) {
        if let Some(id) = ids.into_iter().find(stands)
            && let Some(obstacle) = obstacle(command, given, &on)
        {
            let Obstacle { what, remedy } = obstacle;
            let problem = format!("{} has no effect {what}", flag(command, id));
            return Err(refused(problem, format!("leave it out{remedy}")));
        }
    }
    Ok(())
}

/// Reason why a flag has no effect, and a remedy.
struct Obstacle {
    what: String,
    remedy: String,
}

fn obstacle(command: &Command, given: &ArgMatches, on: &On) -> Option<Obstacle> {
    let (id, values, wanted) = match on {
        On::Values(id, values) => (id, values, true),
        On::OtherValues(id, values) => (id, values, false),
        On::Given(ids) if ids.iter().any(|id| has_value(given, id)) => return None,
        On::Given(ids) => {
            let known = ids.iter().filter(|id| has_flag(command, id));
            let flags: Vec<String> = known.map(|id| flag(command, id)).collect();
            let remedy = format!(", or add {}", flags.first()?);
            return Some(Obstacle { what: format!("without {}", flags.join(" or ")), remedy });
        }
        On::NotGiven(id) if !is_given(given, id) => return None,
        On::NotGiven(id) => {
            let flag = flag(command, id);
            let remedy = format!(", or do without {flag}");
            return Some(Obstacle { what: format!("with {flag}"), remedy });
        }
    };
    if !has_flag(command, id) {
        return None;
    }
    let flag = flag(command, id);
    let Some(raw) = given.get_raw(id).and_then(|mut values| values.next()) else {
        let setting = format!("{flag} {}", values.join(" or "));
        let what = format!("without {setting}");
        return wanted.then(|| Obstacle { what, remedy: format!(", or add {setting}") });
    };
    let value = raw.to_string_lossy();
    if values.contains(&&*value) == wanted {
        return None;
    }
    let verb = if is_given(given, id) { "use" } else { "add" };
    let remedy = if wanted {
        format!(", or {verb} {flag} {}", values.join(" or "))
    } else {
        format!(", or use another {flag}")
    };
    Some(Obstacle { what: format!("with {flag} {value}"), remedy })
}

/// Whether a command has a flag. A rule about another command's flag does not apply.
fn has_flag(command: &Command, id: &str) -> bool {
    command.get_arguments().any(|flag| flag.get_id() == id)
}

fn refused(problem: String, hint: String) -> Error {
    Error::new(ErrorKind::Config, problem).with_hint(hint)
}

/// Whether a flag has a value, including its default.
fn has_value(given: &ArgMatches, id: &str) -> bool {
    given.try_contains_id(id).is_ok_and(|has_value| has_value)
}

/// The name of a flag.
fn flag(command: &Command, id: &str) -> String {
    let found = command.get_arguments().find(|flag| flag.get_id() == id).and_then(Arg::get_long);
    format!("--{}", found.unwrap_or(id))
}
