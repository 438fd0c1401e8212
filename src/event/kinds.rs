//! The kinds of events.

use serde::{Deserialize, Serialize};

use super::progress::RunProgress;
use super::scores::{Confusion, Metric, PredictionScores, Scores};
use crate::error::ErrorKind;
use crate::io::IoTotals;
use crate::platform::ProcessorSeconds;

/// A message from a rank to the launcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A remark for the user: an assumption made, a doubtful input.
    Note(String),
    /// An epoch is complete on all ranks (from rank 0).
    Epoch(EpochReport),
    /// A step on sampled batches is complete on all ranks (from rank 0), if steps are reported.
    Batch(StepReport),
    /// An epoch of a user's program is complete on all ranks (from rank 0).
    Log(EpochLog),
    /// The checkpoint of an epoch is written (from rank 0, after that epoch's event).
    Checkpoint(u32),
    /// The last evaluation is complete on all ranks (from rank 0).
    Evaluation(Evaluation),
    /// How good the predictions of nodes with labels are (from rank 0).
    Predicted(PredictionScores),
    /// The turns of a rank in an epoch.
    Turns(RankTurns),
    /// The resources that a rank took, at the end of a run that a plan is made from.
    Usage(Usage),
    /// A rank cannot go on.
    Failed(Failure),
    /// Values that a program of the user's reports, as a JSON object.
    Logged(String),
    /// A step of a program of the user's, or an epoch, is complete on all ranks (from rank 0, or the first rank of another machine).
    Step,
    /// The progress of the run, every half second (from the launcher).
    Progress(RunProgress),
}

/// The results of an epoch, over all ranks. Loss and scores are those of the forward pass before the epoch's update, including
/// dropout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// Mean loss over the training nodes.
    pub loss: f64,
    /// Values of the task's metric in the training pass.
    pub scores: Scores,
    /// Learning rate of the update.
    pub lr: f64,
    /// The evaluation after the update, if the epoch has one.
    pub evaluation: Option<EpochEvaluation>,
    /// Wall-clock seconds of the training pass, without evaluations.
    pub epoch_s: f64,
    /// Processor time of the training pass, over all ranks.
    pub processor: ProcessorSeconds,
    /// Turns taken by each worker in the training pass.
    pub lock_turns: u64,
    /// Bytes written and read by all ranks.
    pub io: IoTotals,
    /// Counts of batches and rows, for an epoch on sampled neighbourhoods.
    pub samples: Option<SampleReport>,
}

/// The results of a step on sampled batches, over all ranks: those of the forward pass before the step's update, including
/// dropout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// Number of the step in the epoch, from 1.
    pub step: u32,
    /// Number of steps of an epoch.
    pub steps: u32,
    /// Mean loss over the ranks' batches.
    pub loss: f64,
    /// Values of the task's metric over the seeds.
    pub scores: Scores,
    /// Wall-clock seconds since the epoch began.
    pub seconds: f64,
}

/// An evaluation between two epochs, without dropout, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochEvaluation {
    /// Values of the task's metric.
    pub scores: Scores,
    /// Wall-clock seconds that it took.
    pub seconds: f64,
}

/// The turns of a rank in an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankTurns {
    /// The rank.
    pub rank: usize,
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// The turns, one after the other.
    pub spans: Vec<TurnSpan>,
}

/// A turn of a rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnSpan {
    /// Begin, in seconds of a clock that all ranks share.
    pub begin_s: f64,
    /// End, in seconds of the same clock.
    pub end_s: f64,
    /// The rank's step at the end of the turn.
    pub phase: String,
}

/// The turns of an epoch, as a run's folder records them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedTurns {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// Turns of each rank.
    pub ranks: Vec<Vec<TurnSpan>>,
}

/// An epoch of a user's program, over all ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochLog {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// Values that the program reports, by name.
    pub values: Vec<(String, f64)>,
    /// Wall-clock seconds from the end of the previous epoch to the end of this one.
    pub epoch_s: f64,
    /// Number of turns that each worker took.
    pub lock_turns: u64,
    /// Bytes that all ranks have written and read.
    pub io: IoTotals,
}

/// The batches of an epoch and their requested rows, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleReport {
    /// Number of batches.
    pub batches: u64,
    /// Bytes of input features that batches needed, where a row counts once per batch.
    pub row_bytes_needed: u64,
    /// Bytes that were read for them.
    pub row_bytes_read: u64,
}

/// All metrics with the final weights, without dropout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Epoch whose update produced the weights.
    pub epoch: u32,
    /// Mean loss over the training nodes.
    pub loss: f64,
    /// Values of the task's metrics, beginning with the metric of the epochs.
    pub scores: Vec<Scores>,
    /// Confusion tables, if there are classes, and not too many for a table.
    pub confusion: Option<Confusion>,
    /// Wall-clock seconds that it took.
    pub seconds: f64,
}

impl Evaluation {
    /// The values of a metric.
    pub fn scores(&self, metric: Metric) -> Option<&Scores> {
        self.scores.iter().find(|scores| scores.metric == metric)
    }
}

/// The resources that a rank took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The rank.
    pub rank: usize,
    /// Peak of its process's own memory, in bytes, beyond its memory at the start.
    pub memory: u64,
    /// The most of it at a pause, with pages of the launcher that the process has changed, in bytes.
    pub waiting: u64,
    /// Pages of files, such as code, that the launcher did not have in memory, in bytes.
    pub files: u64,
    /// Peak of the disk space of all ranks' files, in bytes, as far as this rank saw.
    pub disk: u64,
}

/// The error for which a rank cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The rank.
    pub rank: usize,
    /// The kind of its error.
    pub kind: ErrorKind,
    /// The error's message, in which fields of configurations are marked.
    pub problem: String,
    /// The error's remedy.
    pub hint: Option<String>,
}
