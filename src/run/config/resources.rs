//! Resources that the worker processes of a run use.

use std::path::PathBuf;

use super::memory_budget::MemoryBudget;
use super::own_partitions::OwnPartitions;
use super::run_config::RunConfig;
use crate::engine::spill::{ComputeDtype, SpillDtype};
use crate::engine::spill_dir::default_spill_dir;
use crate::io::IoMode;

/// Resources of the machine for the worker processes of a run, and types and modes of stored data.
#[derive(Debug, Clone, PartialEq)]
pub struct Resources {
    /// Limit for the memory of all processes of the run together.
    pub memory_budget: MemoryBudget,
    /// Number of workers that may be in memory at a time; `None` means two (in full-graph training with 8 or more
    /// workers, three) if the memory budget allows it.
    pub resident: Option<usize>,
    /// Number of threads per resident worker.
    pub threads: usize,
    /// Element type of rows that outlive an operation.
    pub spill_dtype: SpillDtype,
    /// Element type of computations in layers.
    pub compute_dtype: ComputeDtype,
    /// How spill and exchange files are written and read when the page cache has no room for them.
    pub io: IoMode,
    /// Folder for spill and exchange files. Each run creates its own folder in it and removes it at its end.
    pub spill_dir: PathBuf,
    /// Partitions of this machine, in a run on several; `None` means those whose files it has, or an even share if it
    /// has all.
    pub partitions: Option<OwnPartitions>,
}

impl Default for Resources {
    /// Two or three workers in memory at a time, all cores, the default memory budget, and a spill folder for temporary files.
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
