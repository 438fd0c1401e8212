//! The kinds of events.

use serde::{Deserialize, Serialize};

use super::progress::RunProgress;
use super::scores::{Confusion, Metric, PredictionScores, Scores};
use crate::io::IoTotals;
use crate::platform::ProcessorSeconds;
use crate::words::error::ErrorRecord;

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
    /// A rank's turns in an epoch.
    Turns(RankTurns),
    /// Resources that a rank took, at the end of a run that serves to make a plan.
    Usage(Usage),
    /// A rank cannot go on.
    Failed(Failure),
    /// Values that a user's program reports, as a JSON object.
    Logged(String),
    /// A step, or an epoch, of a user's program is complete on all ranks (from rank 0, or the first rank of another
    /// machine).
    Step,
    /// The progress of the run, every half second (from the launcher).
    Progress(RunProgress),
}

/// Results of an epoch, over all ranks. Loss and scores come from the forward pass before the epoch's update, dropout
/// included.
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

/// Results of a step on sampled batches, over all ranks. Loss and scores come from the forward pass before the step's
/// update, dropout included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// Number of the step in the epoch, from 1.
    pub step: u32,
    /// Number of steps per epoch.
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
    /// Begin, in seconds of the machine's shared clock.
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
    /// Bytes of input features that batches needed, counting a row once per batch.
    pub row_bytes_needed: u64,
    /// Bytes of input features that were read.
    pub row_bytes_read: u64,
}

/// All metrics under the final weights, without dropout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Epoch whose update made the weights.
    pub epoch: u32,
    /// Mean loss over the training nodes.
    pub loss: f64,
    /// Values of the task's metrics, beginning with the metric of the epochs.
    pub scores: Vec<Scores>,
    /// Confusion tables, if the task has classes, and few enough for a table.
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

/// Resources that a rank took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The rank.
    pub rank: usize,
    /// Peak of its process's own memory, in bytes, beyond the memory at the start.
    pub memory: u64,
    /// Peak at a pause, with the launcher's pages that the process has changed, in bytes.
    pub waiting: u64,
    /// Pages of files that its process maps, such as code, in bytes.
    pub files: u64,
    /// Peak disk space of all ranks' files that this rank saw, in bytes.
    pub disk: u64,
}

/// Error that stops a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The rank.
    pub rank: usize,
    /// The error of the rank.
    pub error: ErrorRecord,
}
