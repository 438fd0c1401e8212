//! Reports of steps inside an epoch.

use std::time::Instant;

use crate::event::{Scores, StepReport};
use crate::words::error::Result;

/// Receiver of a rank's reports on steps, and their interval. Steps are the same on all ranks, so one rank reports.
#[derive(Clone, Copy)]
pub struct StepLog<'a> {
    /// Number of steps between reports.
    pub every: u32,
    /// Receives a report.
    pub report: &'a dyn Fn(StepReport) -> Result<()>,
}

/// Reports on the steps of one epoch.
pub(super) struct LoggedSteps<'a> {
    log: Option<StepLog<'a>>,
    epoch: u32,
    steps: u32,
    begin: Instant,
}

impl<'a> LoggedSteps<'a> {
    /// Reports for an epoch that begins.
    pub(super) fn of_epoch(log: Option<StepLog<'a>>, epoch: u32, steps: usize) -> Self {
        LoggedSteps { log, epoch, steps: steps as u32, begin: Instant::now() }
    }

    /// Reports a step (from 0) if it is due: its mean loss over the batches of all ranks, and its scores.
    pub(super) fn step(&self, step: usize, loss: f64, scores: Scores) -> Result<()> {
        let Some(StepLog { every, report }) = self.log else { return Ok(()) };
        let (step, seconds) = (step as u32 + 1, self.begin.elapsed().as_secs_f64());
        if !step.is_multiple_of(every) {
            return Ok(());
        }
        report(StepReport { epoch: self.epoch, step, steps: self.steps, loss, scores, seconds })
    }
}
