//! The files of results that ranks write.

use std::path::{Path, PathBuf};

use crate::io::UNFINISHED;

/// Name of the file with trained weights, in a run's folder.
pub const WEIGHTS: &str = "model.safetensors";

/// Name of the file with a run's last checkpoint, in its folder.
pub const CHECKPOINT: &str = "checkpoint.safetensors";

/// Name of the file with the checkpoint before the last one, in its folder. If the last one is damaged, only one
/// interval is lost.
pub const PREVIOUS_CHECKPOINT: &str = "checkpoint.previous.safetensors";

/// Path of weights before they become [`WEIGHTS`]: when the run has succeeded, the launcher removes an earlier run's
/// weights and renames these.
pub fn pending_weights(out: &Path) -> PathBuf {
    out.join(format!("{UNFINISHED}weights"))
}

/// Path of a checkpoint before it becomes [`CHECKPOINT`]: the launcher renames it after recording the epoch, so that a
/// run which resumes from it has the metrics of all epochs.
pub fn pending_checkpoint(out: &Path, epoch: u32) -> PathBuf {
    out.join(format!("{UNFINISHED}checkpoint-{epoch}"))
}
