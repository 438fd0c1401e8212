//! Resources of the machine that the worker processes of a run use.

use std::path::PathBuf;

use super::memory_budget::MemoryBudget;
use super::own_partitions::OwnPartitions;
use super::run_config::RunConfig;
use crate::engine::spill::{ComputeDtype, SpillDtype};
use crate::engine::spill_dir::default_spill_dir;
use crate::io::IoMode;

/// Resources of the machine that the worker processes of a run use, and how they hold their data.
#[derive(Debug, Clone, PartialEq)]
pub struct Resources {
    /// Memory that all processes of the run take together, at most.
    pub memory_budget: MemoryBudget,
    /// Number of workers that may be in memory at a time; if not given, two (in training on the full graph three of 8 or more) as
    /// soon as the memory budget allows it.
    pub resident: Option<usize>,
    /// Number of threads that a resident worker computes with.
    pub threads: usize,
    /// Element type of rows that outlive an operation.
    pub spill_dtype: SpillDtype,
    /// Element type that layers compute with.
    pub compute_dtype: ComputeDtype,
    /// How spill and exchange files that the page cache has no room for are written and read.
    pub io: IoMode,
    /// The folder of spill and exchange files. Each run has its own folder in it, which is removed at its end.
    pub spill_dir: PathBuf,
    /// The partitions that this machine works on, of a run on several; `None`: those whose files it has, or an even part if it has all.
    pub partitions: Option<OwnPartitions>,
}

impl Default for Resources {
    /// One or two workers in memory at a time, all cores, the default memory budget, and a spill folder for temporary files.
    fn default() -> Self {
        Resources {
            memory_budget: MemoryBudget::default(),
            resident: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            spill_dtype: SpillDtype::default(),
            compute_dtype: ComputeDtype::default(),
            io: IoMode::default(),
            spill_dir: default_spill_dir(),
            partitions: None,
        }
    }
}

impl RunConfig {
    /// Resources of the machine that the run's workers use.
    pub fn resources(&self) -> Resources {
        Resources {
            memory_budget: self.memory_budget,
            resident: self.resident,
            threads: self.threads,
            spill_dtype: self.spill_dtype,
            compute_dtype: self.compute_dtype,
            io: self.io,
            spill_dir: self.spill_dir.clone(),
            partitions: self.partitions.clone(),
        }
    }
}
