//! The files of results that ranks write.

use std::path::{Path, PathBuf};

use crate::io::UNFINISHED;

/// Name of the file with trained weights, in a run's folder.
pub const WEIGHTS: &str = "model.safetensors";

/// Name of the file with a run's last checkpoint, in its folder.
pub const CHECKPOINT: &str = "checkpoint.safetensors";

/// Name of the file with the checkpoint before the last one: if the last one is damaged, an interval is lost, but not the run.
pub const PREVIOUS_CHECKPOINT: &str = "checkpoint.previous.safetensors";

/// Path at which weights wait to become [`WEIGHTS`]: the launcher renames them when the run has succeeded, after it has removed
/// those of an earlier run.
pub fn pending_weights(out: &Path) -> PathBuf {
    out.join(format!("{UNFINISHED}weights"))
}

/// Path at which a checkpoint waits to become [`CHECKPOINT`]: the launcher renames it when it has recorded the epoch, so that a
/// run that continues from there has the metrics of all epochs.
pub fn pending_checkpoint(out: &Path, epoch: u32) -> PathBuf {
    out.join(format!("{UNFINISHED}checkpoint-{epoch}"))
}
