//! The events.

use serde::{Deserialize, Serialize};

/// Something a rank has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A remark for the user: an assumption made, a doubtful input.
    Note(String),
    /// An epoch is complete on all ranks (from rank 0).
    Epoch(EpochReport),
    /// The last evaluation is complete on all ranks (from rank 0).
    Evaluation(Evaluation),
    /// A rank cannot go on.
    Failed(Failure),
}

/// An epoch, over all ranks. Loss and accuracies are those of the forward pass before the epoch's update.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// From 1.
    pub epoch: u32,
    /// Mean over the training nodes.
    pub loss: f64,
    /// Share of training nodes that are classified right; `None` without training nodes, likewise below.
    pub train_acc: Option<f64>,
    /// Of validation nodes.
    pub val_acc: Option<f64>,
    /// Of test nodes.
    pub test_acc: Option<f64>,
    /// Wall-clock seconds between the ends of the previous epoch and this one.
    pub epoch_s: f64,
    /// Turns taken by each worker.
    pub lock_turns: u64,
    /// Bytes written to spill and exchange files by all ranks.
    pub bytes_written: u64,
    /// Bytes read from spill, exchange and feature files by all ranks.
    pub bytes_read: u64,
}

/// Accuracies with the final weights, without dropout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Mean over the training nodes.
    pub loss: f64,
    /// Share of training nodes that are classified right; `None` without training nodes, likewise below.
    pub train_acc: Option<f64>,
    /// Of validation nodes.
    pub val_acc: Option<f64>,
    /// Of test nodes.
    pub test_acc: Option<f64>,
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
