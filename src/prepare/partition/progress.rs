//! Progress of work on graphs: partitioning, generating, exporting.

use crate::words::error::Result;

/// Progress of a step. Steps come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepProgress {
    /// The current step, in words.
    pub step: &'static str,
    /// Number of units done: bytes, nodes or edges.
    pub done: u64,
    /// Total number of units.
    pub total: u64,
}

/// Receives the progress; an error ends the work.
pub type Observer<'a> = dyn FnMut(StepProgress) -> Result<()> + 'a;

/// Reports a step's progress now and then.
pub(crate) struct Meter<'a, 'b> {
    observer: &'a mut Observer<'b>,
    progress: StepProgress,
}

/// Number of units between two reports.
const INTERVAL: u64 = 1 << 16;

impl<'a, 'b> Meter<'a, 'b> {
    pub(crate) fn new(
        observer: &'a mut Observer<'b>,
        step: &'static str,
        total: u64,
    ) -> Result<Self> {
        let progress = StepProgress { step, done: 0, total };
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
