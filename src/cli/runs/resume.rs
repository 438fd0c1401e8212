//! `--resume`, and the flags that may change with it.

use crate::run;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command};

use super::budget::budget_here;
use super::paths::absolute;
use super::run_flags::RunArgs;
use super::train::{TrainArgs, run};
use crate::cli::flags::given::is_given;
use crate::run::config::RunConfig;
use crate::words::error::Result;

/// Flag that names the graph.
const PART_JSON: &str = "part_json";

/// A flag next to `--resume` that would change the run's settings, if any.
pub(in crate::cli) fn changed(command: &Command, given: &ArgMatches) -> Option<String> {
    if !is_given(given, "resume") {
        return None;
    }
    let free = RunArgs::augment_args(Command::new(""));
    let is_free = |flag: &Arg| {
        flag.get_id() == PART_JSON
            || free.get_arguments().any(|other| other.get_id() == flag.get_id())
    };
    let of_run = TrainArgs::augment_args(Command::new(""));
    let changes = |flag: &&Arg| {
        let is_of_run = of_run.get_arguments().any(|other| other.get_id() == flag.get_id());
        is_given(given, flag.get_id().as_str()) && is_of_run && !is_free(flag)
    };
    let changed = command.get_arguments().find(changes);
    changed.and_then(|flag| Some(format!("--{}", flag.get_long()?)))
}

/// Continues the run that the flags name.
pub(in crate::cli) fn resume(args: RunArgs, part_json: Option<PathBuf>) -> Result<()> {
    let config = resumed(&args, part_json);
    config.and_then(|config| run(&config, run::resume)).map_err(run::end_everywhere)
}

/// The configuration of the run that the flags name, with their changes. `part_json` is the new place of its graph.
pub(in crate::cli) fn resumed(args: &RunArgs, part_json: Option<PathBuf>) -> Result<RunConfig> {
    let folder = absolute(args.resume.clone().unwrap_or_default())?;
    let mut config = run::resumable(&folder)?;
    config.part_json = part_json.map(absolute).transpose()?.unwrap_or(config.part_json);
    config.memory_budget = budget_here(args.memory_budget, config.memory_budget);
    args.set(&mut config)?;
    Ok(config)
}
