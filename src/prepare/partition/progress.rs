//! Progress of partitioning.

use crate::error::Result;

/// Steps of partitioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionStep {
    /// Input files are read (bytes).
    Reading,
    /// Neighbours are sorted (edges).
    Neighbours,
    /// Nodes are assigned to partitions (nodes of all passes).
    Assigning,
    /// Edges are sorted by partition (edges).
    Sorting,
    /// Structure is written (edges).
    Structure,
    /// Tables are moved (bytes).
    Tables,
}

/// Progress of a step. Steps come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionProgress {
    /// The current step.
    pub step: PartitionStep,
    /// Number of units done.
    pub done: u64,
    /// Total number of units.
    pub total: u64,
}

/// Receives the progress; an error ends the work.
pub type Observer<'a> = dyn FnMut(PartitionProgress) -> Result<()> + 'a;

/// Reports a step's progress now and then.
pub(crate) struct Meter<'a, 'b> {
    observer: &'a mut Observer<'b>,
    progress: PartitionProgress,
}

/// Number of units between two reports.
const INTERVAL: u64 = 1 << 16;

impl<'a, 'b> Meter<'a, 'b> {
    pub(crate) fn new(
        observer: &'a mut Observer<'b>,
        step: PartitionStep,
        total: u64,
    ) -> Result<Self> {
        let progress = PartitionProgress { step, done: 0, total };
        observer(progress)?;
        Ok(Meter { observer, progress })
    }

    /// Counts one more unit as done.
    #[inline]
    pub(crate) fn tick(&mut self) -> Result<()> {
        self.add(1)
    }

    /// Counts more units as done.
    #[inline]
    pub(crate) fn add(&mut self, units: u64) -> Result<()> {
        let before = self.progress.done / INTERVAL;
        self.progress.done += units;
        if self.progress.done / INTERVAL == before {
            return Ok(());
        }
        (self.observer)(self.progress)
    }
}
