//! The checkpoint from which a run continues: the last one, or the one before it if the last one is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::event::Event;
use crate::io::{remove_if_exists, replace};
use crate::load::GraphFingerprint;
use crate::run::launch::connection::reports;
use crate::run::rank::{CHECKPOINT, PREVIOUS_CHECKPOINT, pending_checkpoint};
use crate::train::Checkpoint;
use crate::words::error::{Error, Result};

/// A verified checkpoint.
pub(in crate::run) struct LastCheckpoint {
    /// Path of the checkpoint's file.
    pub(in crate::run) path: PathBuf,
    /// Content of the file.
    pub(in crate::run) checkpoint: Checkpoint,
    /// Remarks for the user.
    pub(in crate::run) notes: Vec<String>,
}

/// Opens the last checkpoint in a run's folder or, with a note, the one before it.
pub(in crate::run) fn open_last<T>(
    folder: &Path,
    open: impl Fn(PathBuf) -> Result<T>,
) -> Result<(T, Option<String>)> {
    let error = match open(folder.join(CHECKPOINT)) {
        Ok(last) => return Ok((last, None)),
        Err(error) => error,
    };
    let path = folder.join(PREVIOUS_CHECKPOINT);
    let note = format!("{error}; the previous checkpoint is used, {}", path.display());
    open(path).map(|previous| (previous, Some(note))).map_err(|_| error)
}

impl LastCheckpoint {
    /// Finds and verifies the checkpoint in a run's folder.
    pub(in crate::run) fn find(folder: &Path) -> Result<Self> {
        let (mut found, note) = open_last(folder, Self::open)?;
        found.notes.extend(note);
        Ok(found)
    }

    /// Whether it is the checkpoint before the last one.
    pub(in crate::run) fn is_previous(&self) -> bool {
        self.path.ends_with(PREVIOUS_CHECKPOINT)
    }

    /// Checks that the graph with the JSON file `json` is the one that the run was trained on. `observe` gets a note if
    /// the checkpoint does not say.
    pub(in crate::run) fn check_graph(
        &self,
        graph: &GraphFingerprint,
        json: &Path,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<()> {
        let Some(ours) = &self.checkpoint.graph else {
            if reports() {
                observe(&Event::Note(format!(
                    "{}: was written by an earlier version, without a fingerprint of the graph, so it is not known whether the graph \
                     is the same",
                    self.path.display()
                )));
            }
            return Ok(());
        };
        let Some(difference) = ours.difference(graph) else { return Ok(()) };
        let problem = format!("is not the graph on which the run was trained: {difference}");
        Err(Error::input(json, "", problem).with_hint(
            "the graph or its features have changed; name the run's own graph with ‹part_json=FILE›, or start a new run",
        ))
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

/// Makes the pending checkpoint the folder's last one. The former last one becomes the one before it, unless it is
/// damaged.
///
/// The folder has a last checkpoint at all times, because scripts test for it to decide between resuming a run and
/// starting it again. On file systems without hard links it is missing for a moment between two renames.
pub(in crate::run) fn keep_checkpoint(
    folder: &Path,
    epoch: u32,
    spare_previous: bool,
) -> Result<()> {
    let last = folder.join(CHECKPOINT);
    if !spare_previous && fs::symlink_metadata(&last).is_ok() {
        let previous = folder.join(PREVIOUS_CHECKPOINT);
        remove_if_exists(&previous)?;
        if fs::hard_link(&last, &previous).is_err() {
            replace(&last, &previous)?;
        }
    }
    replace(&pending_checkpoint(folder, epoch), &last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(folder: &Path, epoch: u32) {
        fs::write(pending_checkpoint(folder, epoch), epoch.to_string()).unwrap();
        keep_checkpoint(folder, epoch, false).unwrap();
    }

    #[test]
    fn there_is_a_last_checkpoint_all_the_time() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        keep(folder, 0);
        std::thread::scope(|scope| {
            let keeper = scope.spawn(|| (1..2_000).for_each(|epoch| keep(folder, epoch)));
            while !keeper.is_finished() {
                assert!(folder.join(CHECKPOINT).exists());
            }
        });
    }
}
