//! Flags without an effect in a run, which are refused.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use crate::error::{Error, ErrorKind, Result};

/// A condition under which some flags have an effect.
struct Rule {
    /// The flags, by their ids.
    flags: &'static [&'static str],
    /// The condition for their effect.
    on: On,
}

/// A condition on another flag, by its id.
enum On {
    /// The flag has one of these values.
    Values(&'static str, &'static [&'static str]),
    /// The flag has any value but these.
    OtherValues(&'static str, &'static [&'static str]),
    /// The flag is given.
    Given(&'static str),
    /// One of the flags is given, or has a value without being given.
    OneGiven(&'static [&'static str]),
    /// The flag is not given.
    NotGiven(&'static str),
}

const STACKS: &[&str] = &["appnp", "sgc", "sign"];

/// Rules of a training run and its plan, except for options of a kind of model, which the model declares itself.
const OF_TRAINING: [Rule; 5] = [
    Rule { flags: &["layers", "hidden", "dropout"], on: On::OtherValues("model", &["sgc"]) },
    Rule { flags: &["norm", "jk", "residual"], on: On::OtherValues("model", STACKS) },
    Rule {
        flags: &["fanouts", "replace", "edge_prob", "optimized_batches", "eval_fanouts"],
        on: On::OtherValues("model", &["sgc", "sign"]),
    },
    Rule {
        flags: &["score", "negatives", "target_etype", "reverse_etype", "split"],
        on: On::Values("task", &["link"]),
    },
    Rule {
        flags: &[
            "fanouts",
            "replace",
            "edge_prob",
            "batch_size",
            "sampler_threads",
            "reduce",
            "optimized_batches",
            "log_every",
            "eval_fanouts",
        ],
        on: On::Values("mode", &["sample"]),
    },
];

/// Flags about updates, epochs and results.
const AFTER_THE_FIRST_STEP: [&str; 14] = [
    "optimizer",
    "lr",
    "weight_decay",
    "schedule",
    "clip_norm",
    "patience",
    "eval_every",
    "eval_fanouts",
    "log_every",
    "keep",
    "metrics",
    "on_nan",
    "checkpoint_every",
    "tensorboard",
];

/// Further rules of a training run, and rules of other commands.
const MORE: [Rule; 13] = [
    Rule { flags: &["reverse_etype"], on: On::Given("target_etype") },
    Rule { flags: &["split"], on: On::NotGiven("train_mask_key") },
    Rule { flags: &["optimized_batches"], on: On::OtherValues("task", &["link"]) },
    Rule { flags: &AFTER_THE_FIRST_STEP, on: On::NotGiven("dump_step") },
    Rule { flags: &["spill_dtype"], on: On::Values("compute_dtype", &["f32"]) },
    Rule { flags: &["overwrite"], on: On::OneGiven(&["out", "dump_step", "trace"]) },
    Rule { flags: &["of"], on: On::Given("top_k") },
    Rule { flags: &["layer"], on: On::Given("output") },
    Rule { flags: &["layer"], on: On::Values("output", &["embeddings"]) },
    Rule { flags: &["assignment"], on: On::Values("method", &["file"]) },
    Rule { flags: &["source_column", "target_column"], on: On::Given("edges") },
    Rule {
        flags: &["id", "label", "drop", "embed", "fill_missing", "scale"],
        on: On::Given("node_table"),
    },
    Rule { flags: &["seed"], on: On::Values("method", &["stream", "metis", "random"]) },
];

/// Flags about other machines, and about a run's results, which a plan does not have.
pub(super) const RESULTS: [&str; 7] =
    ["out", "overwrite", "checkpoint_every", "dump_step", "tensorboard", "trace", "partitions"];

/// Refuses given flags that have no effect.
///
/// # Errors
/// The name of the first of them, and the condition for its effect.
pub(super) fn check(command: &Command, given: &ArgMatches) -> Result<()> {
    let stands = |id: &&&str| is_given(given, id);
    if command.get_name() == "plan"
        && let Some(id) = RESULTS.iter().find(stands)
    {
        let problem = format!("{} has no effect with plan", flag(command, id));
        return Err(refused(
            problem,
            "leave it out: a plan has no results, and one machine".to_owned(),
        ));
    }
    for Rule { flags: ids, on } in OF_TRAINING.iter().chain(&MORE) {
        if let Some(id) = ids.iter().find(stands)
            && let Some(obstacle) = obstacle(command, given, on)
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
        On::Values(id, values) => (id, *values, true),
        On::OtherValues(id, values) => (id, *values, false),
        On::Given(id) if is_given(given, id) || !has_flag(command, id) => return None,
        On::OneGiven(ids) if ids.iter().any(|id| has_value(given, id)) => return None,
        On::OneGiven(ids) => {
            let flags: Vec<String> = ids.iter().map(|id| flag(command, id)).collect();
            let remedy = format!(", or add {}", flags[0]);
            return Some(Obstacle { what: format!("without {}", flags.join(" or ")), remedy });
        }
        On::NotGiven(id) if !is_given(given, id) => return None,
        On::NotGiven(id) => {
            let flag = flag(command, id);
            let remedy = format!(", or do without {flag}");
            return Some(Obstacle { what: format!("with {flag}"), remedy });
        }
        On::Given(id) => {
            let flag = flag(command, id);
            let remedy = format!(", or add {flag}");
            return Some(Obstacle { what: format!("without {flag}"), remedy });
        }
    };
    if !has_flag(command, id) {
        return None;
    }
    let raw = given.get_raw(id).and_then(|mut values| values.next())?;
    let value = raw.to_string_lossy();
    if values.contains(&&*value) == wanted {
        return None;
    }
    let flag = flag(command, id);
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

/// Whether a flag is on the command line.
pub(super) fn is_given(given: &ArgMatches, id: &str) -> bool {
    // Other commands have other flags.
    given.try_contains_id(id).is_ok_and(|known| known)
        && given.value_source(id) == Some(ValueSource::CommandLine)
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
