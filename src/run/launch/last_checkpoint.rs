//! The checkpoint from which a run continues: the last one, or the one before it if that is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::io::replace;
use crate::run::rank::{CHECKPOINT, PREVIOUS_CHECKPOINT, pending_checkpoint};
use crate::train::Checkpoint;

/// A checkpoint that has been verified.
pub(in crate::run) struct LastCheckpoint {
    /// Path of the file.
    pub(in crate::run) path: PathBuf,
    /// The content of the file.
    pub(in crate::run) checkpoint: Checkpoint,
    /// Remarks for the user.
    pub(in crate::run) notes: Vec<String>,
}

impl LastCheckpoint {
    /// Finds the checkpoint in the folder of a run, and verifies it.
    ///
    /// # Errors
    /// If no checkpoint can be used; the error is that of the last one.
    pub(in crate::run) fn find(folder: &Path) -> Result<Self> {
        let error = match Self::open(folder.join(CHECKPOINT)) {
            Ok(last) => return Ok(last),
            Err(error) => error,
        };
        let Ok(mut previous) = Self::open(folder.join(PREVIOUS_CHECKPOINT)) else {
            return Err(error);
        };
        let note = format!("{error}; the one before it is used, {}", previous.path.display());
        previous.notes.push(note);
        Ok(previous)
    }

    /// Whether it is the checkpoint before the last one.
    pub(in crate::run) fn is_previous(&self) -> bool {
        self.path.ends_with(PREVIOUS_CHECKPOINT)
    }

    fn open(path: PathBuf) -> Result<Self> {
        let checkpoint = Checkpoint::open(&path)?;
        let mut notes = Vec::new();
        if !checkpoint.verify()? {
            notes.push(format!(
                "{}: was written by an earlier version, without a checksum, so it cannot be verified",
                path.display()
            ));
        }
        Ok(LastCheckpoint { path, checkpoint, notes })
    }
}

/// Makes the pending checkpoint the last one of the folder. The former last one becomes the one before, unless that is to be
/// kept because the last one is damaged.
pub(in crate::run) fn keep_checkpoint(
    folder: &Path,
    epoch: u32,
    spare_previous: bool,
) -> Result<()> {
    let last = folder.join(CHECKPOINT);
    if !spare_previous && fs::symlink_metadata(&last).is_ok() {
        replace(&last, &folder.join(PREVIOUS_CHECKPOINT))?;
    }
    replace(&pending_checkpoint(folder, epoch), &last)
}
