//! The plan of a run, as the user sees it.

use serde::Serialize;

/// Forecast of a run, in bytes and seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Number of partitions, and of processes.
    pub partitions: usize,
    /// Number of nodes of the whole graph.
    pub nodes: u64,
    /// Number of edges of the whole graph.
    pub edges: u64,
    /// Number of foreign rows that partitions need, over all partitions.
    pub halo_rows: u64,
    /// Whether edges were sampled, which makes counts of rows estimates.
    pub sampled: bool,
    /// Memory of all processes together.
    pub memory: MemoryPlan,
    /// Disk space of the run's files.
    pub disk: DiskPlan,
    /// Reading, writing and computing of an epoch.
    pub epoch: EpochPlan,
    /// Changes with which the run would fit, or be faster. Fields are marked as in [`Error::marked`](crate::Error::marked).
    pub advice: Vec<String>,
}

/// Memory of all processes together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryPlan {
    /// Peak memory of the run when waiting workers keep nothing.
    pub least: u64,
    /// The memory budget; `None` if the run takes as little as possible.
    pub budget: Option<u64>,
    /// Bytes that all waiting workers together may keep after the first epoch.
    pub kept: u64,
}

/// Files of the run in `spill_dir`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiskPlan {
    /// Peak size of the files, reached in the first epoch, in bytes.
    pub peak: u64,
    /// Free space in that folder in bytes, if the system reports it.
    pub free: Option<u64>,
    /// Number of epochs of the run.
    pub epochs: u32,
    /// Upper bound on the bytes that all epochs write: the system may write out the whole page cache, the first epoch
    /// keeps less than the others, and values may contain no zeros.
    pub written: u64,
}

/// Figures of an epoch, from the third one on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpochPlan {
    /// Bytes written by all ranks.
    pub written: u64,
    /// Bytes read by all ranks.
    pub read: u64,
    /// Bytes that would be written if zeros were stored.
    pub written_unpacked: u64,
    /// Bytes that would be read if zeros were stored.
    pub read_unpacked: u64,
    /// Bytes among those written and read that stay in the page cache, within the budget.
    pub cached: u64,
    /// Bytes written and read if waiting workers keep nothing, without zeros.
    pub moved_at_least_memory: u64,
    /// Lower bound on the bytes, zeros included, that any schedule writes and reads if it keeps as much; `None` for
    /// message flow graphs, whose layers differ in size.
    pub bound: Option<u64>,
    /// Seconds of computing, and of copying from and to the page cache.
    pub compute_s: f64,
    /// Seconds of waiting for the disk, at its measured rate, for bytes that are not cached.
    pub disk_s: f64,
    /// Number of workers that are resident at a time.
    pub resident: usize,
}

impl EpochPlan {
    /// Bytes that are written to and read from the disk itself.
    pub fn past_the_cache(&self) -> u64 {
        (self.written + self.read).saturating_sub(self.cached)
    }

    /// Bytes written and read, plus zeros that are not stored.
    pub fn unpacked(&self) -> u64 {
        self.written_unpacked + self.read_unpacked
    }

    /// Seconds of the whole epoch; with several resident workers, one computes while another waits for the disk.
    pub fn seconds(&self) -> f64 {
        let EpochPlan { compute_s, disk_s, resident, .. } = *self;
        if resident > 1 { compute_s.max(disk_s) } else { compute_s + disk_s }
    }
}

impl Plan {
    /// Whether the run fits into its budget and onto the disk.
    pub fn fits(&self) -> bool {
        let memory = self.memory.budget.is_none_or(|budget| self.memory.least <= budget);
        memory && self.disk.free.is_none_or(|free| self.disk.peak <= free)
    }
}
