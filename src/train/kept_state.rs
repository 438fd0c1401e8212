//! A state of training that is kept after its epoch.

use std::path::Path;

use super::checkpoint::{Checkpoint, Progress};
use crate::engine::comm::Ranks;
use crate::error::Result;
use crate::load::GraphFingerprint;
use crate::nn::SharedArray;

/// The state after an epoch. Its arrays are handles to values that later epochs replace without changing them.
pub struct KeptState<'a> {
    pub(super) progress: Progress,
    pub(super) arrays: Vec<SharedArray<'a>>,
    pub(super) ranks: Ranks<'a>,
    /// Graph that checkpoints name.
    pub(super) graph: Option<GraphFingerprint>,
    /// Number of the model's outputs by predicted node type.
    pub(super) outputs: Vec<i64>,
}

impl KeptState<'_> {
    /// The epoch.
    pub fn epoch(&self) -> u32 {
        self.progress.epoch
    }

    /// Writes everything that is needed to continue from this state, with `config`. With learned rows, all ranks call
    /// this (one collective); otherwise only rank 0 writes.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`), a value cannot be read back, or the collective fails.
    pub fn write(&self, path: &Path, config: String) -> Result<()> {
        let KeptState { progress, arrays, ranks, graph, outputs } = self;
        Checkpoint::write(path, config, graph.as_ref(), outputs, *progress, arrays, *ranks)
    }
}
