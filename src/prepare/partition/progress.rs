//! How far the work is.

use crate::error::Result;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
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

/// How far a step is; the steps come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub step: Step,
    /// What is done of it.
    pub done: u64,
    /// All of it.
    pub total: u64,
}

/// Who hears how far the work is; an error of it ends the work.
pub type Observer<'a> = dyn FnMut(Progress) -> Result<()> + 'a;

/// Reports one step, now and then.
pub(super) struct Meter<'a, 'b> {
    observer: &'a mut Observer<'b>,
    progress: Progress,
}

/// Units between two reports.
const INTERVAL: u64 = 1 << 16;

impl<'a, 'b> Meter<'a, 'b> {
    pub(super) fn new(observer: &'a mut Observer<'b>, step: Step, total: u64) -> Result<Self> {
        let progress = Progress { step, done: 0, total };
        observer(progress)?;
        Ok(Meter { observer, progress })
    }

    /// One more unit is done.
    #[inline]
    pub(super) fn tick(&mut self) -> Result<()> {
        self.add(1)
    }

    /// More units are done.
    #[inline]
    pub(super) fn add(&mut self, units: u64) -> Result<()> {
        let before = self.progress.done / INTERVAL;
        self.progress.done += units;
        if self.progress.done / INTERVAL == before {
            return Ok(());
        }
        (self.observer)(self.progress)
    }
}
