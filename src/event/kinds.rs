//! The events.

use serde::{Deserialize, Serialize};

use super::scores::{Confusion, Metric, Scores};
use crate::io::IoTotals;

/// Something a rank has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A remark for the user: an assumption made, a doubtful input.
    Note(String),
    /// An epoch is complete on all ranks (from rank 0).
    Epoch(EpochReport),
    /// The checkpoint of an epoch is written (from rank 0, behind that epoch).
    Checkpoint(u32),
    /// The last evaluation is complete on all ranks (from rank 0).
    Evaluation(Evaluation),
    /// What a rank took, at the end of a run that a plan is made from.
    Usage(Usage),
    /// A rank cannot go on.
    Failed(Failure),
}

/// An epoch, over all ranks. Loss and scores are those of the forward pass before the epoch's update, dropout included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// From 1.
    pub epoch: u32,
    /// Mean over the training nodes.
    pub loss: f64,
    /// The task's metric.
    pub scores: Scores,
    /// Learning rate of the update.
    pub lr: f64,
    /// The task's metric over the validation nodes, after the update and without dropout; where something depends on it.
    pub validation: Option<f64>,
    /// Wall-clock seconds between the ends of the previous epoch and this one.
    pub epoch_s: f64,
    /// Turns taken by each worker.
    pub lock_turns: u64,
    /// Bytes written and read by all ranks.
    pub io: IoTotals,
    /// Of an epoch on sampled neighbourhoods.
    pub samples: Option<SampleReport>,
}

/// What the batches of an epoch asked for, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleReport {
    /// Batches.
    pub batches: u64,
    /// Bytes of input features that batches needed: a row once per batch.
    pub row_bytes_needed: u64,
    /// Bytes that were read for them.
    pub row_bytes_read: u64,
}

/// All metrics with the final weights, without dropout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// After which epoch's update the weights were these.
    pub epoch: u32,
    /// Mean over the training nodes.
    pub loss: f64,
    /// The task's metrics, the one of the epochs first.
    pub scores: Vec<Scores>,
    /// Where there are classes, and not too many of them for a table.
    pub confusion: Option<Confusion>,
}

impl Evaluation {
    /// The values of a metric.
    pub fn scores(&self, metric: Metric) -> Option<&Scores> {
        self.scores.iter().find(|scores| scores.metric == metric)
    }
}

/// What a rank took of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The rank.
    pub rank: usize,
    /// The most memory of its own that its process had at a time, in bytes, beyond what it began with.
    pub memory: u64,
    /// The most bytes that files of all ranks took at a time, as far as this rank saw.
    pub disk: u64,
}

/// Why a rank cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The rank.
    pub rank: usize,
    /// Its error.
    pub problem: String,
    /// The error's remedy.
    pub hint: Option<String>,
    /// The exit code the error calls for.
    pub exit: u8,
}
