//! Flags of a run that do not change its results, which `--resume` takes, too.

use std::path::PathBuf;

use super::paths::absolute_output;
use super::setting::settings;
use crate::cli::flags::choice::choice;
use crate::io::IoMode;
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
        pub(super) memory_budget: Option<MemoryBudget> => memory_budget,
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
