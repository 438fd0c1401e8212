//! `--resume`, and the flags that may change with it.

use crate::run;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command};

use super::budget::budget_here;
use super::paths::{absolute, absolute_output};
use super::setting::settings;
use super::train::{TrainArgs, run};
use crate::cli::flags::choice::choice;
use crate::cli::flags::given::is_given;
use crate::io::IoMode;
use crate::words::error::Result;

use crate::run::config::{MemoryBudget, OwnPartitions, RunConfig};

settings! {
    /// Flags that do not change the results of an epoch.
    pub(in crate::cli) struct RunArgs, fields "" of RunConfig {
        /// Continue a run from its last checkpoint, with its settings; --part-json names the new place of a graph that has moved
        #[arg(long, value_name = "RUN", help_heading = "Run")]
        pub(in crate::cli) resume: Option<PathBuf>; Existing,
        /// Number of epochs [default: 100]
        #[arg(long, value_name = "N", help_heading = "Training")]
        epochs: Option<u32> => epochs,
        /// Folder for spilled data, on a disk with room [default: $TMPDIR or /var/tmp; with --resume, the run's]
        #[arg(long, value_name = "DIR", help_heading = "Run")]
        spill_dir: Option<PathBuf> => spill_dir,
        /// Memory of all processes together, such as 3GiB; min = a waiting worker keeps nothing [default: half of free memory;
        /// with --resume, the run's]
        #[arg(long, value_name = "SIZE", help_heading = "Run")]
        memory_budget: Option<MemoryBudget> => memory_budget,
        /// How to read and write spilled data: around the page cache, or through it [default: auto]
        #[arg(long, value_parser = choice::<IoMode>(), help_heading = "Run")]
        io: Option<IoMode> => io,
        /// Workers that may be in memory at a time [default: 2 or 3 where the memory budget allows it, else 1]
        #[arg(long, value_name = "K", help_heading = "Run")]
        resident: Option<usize> => resident,
        /// Threads of a worker [default: all cores; with --resume, the run's]
        #[arg(long, value_name = "N", help_heading = "Run")]
        threads: Option<usize> => threads,
        /// Write a timeline of every worker to this file, for ui.perfetto.dev or chrome://tracing
        #[arg(long, value_name = "FILE", help_heading = "Run")]
        trace: Option<PathBuf> => trace by absolute_output; Results,
        /// With several machines: partitions of this one, such as 0-7 [default: those that it has; an even part, if it has all]
        #[arg(long, value_name = "LIST", help_heading = "Run")]
        partitions: Option<OwnPartitions> => partitions; Results,
    }
}

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
