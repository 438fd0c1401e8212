//! A state of training that is kept after its epoch.

use super::checkpoint::Progress;
use crate::engine::comm::Ranks;
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
}
