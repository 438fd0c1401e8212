//! Reports of steps inside an epoch.

use std::time::Instant;

use crate::error::Result;
use crate::event::{Scores, StepReport};

/// The receiver of a rank's reports of steps, and how often it wants one. Steps are the same on all ranks, so one rank reports.
#[derive(Clone, Copy)]
pub struct StepLog<'a> {
    /// Number of steps from one report to the next.
    pub every: u32,
    /// Takes a report.
    pub report: &'a dyn Fn(StepReport) -> Result<()>,
}

/// The steps of one epoch that are reported.
pub(super) struct LoggedSteps<'a> {
    log: Option<StepLog<'a>>,
    epoch: u32,
    steps: u32,
    begin: Instant,
}

impl<'a> LoggedSteps<'a> {
    /// The steps of an epoch that begins now.
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
