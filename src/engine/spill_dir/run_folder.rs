//! The folder for a run's spill and exchange files, or for a plan's small graphs.
//!
//! It is named `sar-single-*` and contains the control file, which the launcher (and every worker through it) keeps
//! locked. If the control file can be locked, its process was killed, and the next start removes the folder.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::marked_folder::{CONTROL, PREFIX, UNFINISHED, open, remove};
use crate::engine::turns::Control;
use crate::event::show_note;
use crate::io::MadeFolders;
use crate::words::error::{Error, Result};

/// Number of attempts to create a folder. An attempt fails if another process considers the folder abandoned (its
/// creation would have to take a minute) or has drawn the same name (names come from the clock).
const ATTEMPTS: usize = 100;

/// A folder that only its owner can access; it is removed on drop.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    dir: OwnedFd,
    /// The lock of the control file.
    _lock: File,
    /// Dropped after the folder has been removed.
    _made: MadeFolders,
}

impl RunFolder {
    /// Creates the folder of a run in `spill_dir`, with its control file. If `spill_dir` does not exist, it is created,
    /// too, and removed with this folder unless it contains other files.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(spill_dir: &Path, world_size: usize, slots: usize) -> Result<(Self, Control)> {
        let mut attempts = 1;
        loop {
            match Self::attempt(spill_dir, world_size, slots) {
                Err(error) if attempts < ATTEMPTS && error.io_error().is_some_and(is_lost) => {
                    attempts += 1;
                }
                done => return done,
            }
        }
    }

    fn attempt(spill_dir: &Path, world_size: usize, slots: usize) -> Result<(Self, Control)> {
        let made = MadeFolders::create(spill_dir, "spill_dir")?;
        let unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(spill_dir)
            .map_err(|e| match e.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Error::input(spill_dir, "", format!("nothing can be created in it: {e}"))
                        .with_hint("name another folder for spilled data with ‹spill_dir›")
                }
                _ => Error::io("create a folder in", spill_dir, e),
            })?;
        let unfinished = UnfinishedFolder(unfinished.keep());
        let control_path = unfinished.0.join(CONTROL);
        let control = Control::create(&control_path, world_size, slots)?;
        let lock = File::open(&control_path).map_err(|e| Error::io("open", &control_path, e))?;
        lock.try_lock().map_err(|e| Error::io("lock", &control_path, e.into()))?;
        let links = lock.metadata().map_err(|e| Error::io("look at", &control_path, e))?.nlink();
        if links == 0 {
            return Err(Error::io("find", &control_path, io::ErrorKind::NotFound.into()));
        }
        // After renaming, nothing may fail, because the unfinished folder does not know the new name.
        let dir = open(&unfinished.0).map_err(|e| Error::io("open", &unfinished.0, e))?;
        let name = unfinished.0.file_name().unwrap_or_default().to_string_lossy();
        let path = spill_dir.join(name.replacen(UNFINISHED, PREFIX, 1));
        fs::rename(&unfinished.0, &path).map_err(|e| Error::io("create", &path, e))?;
        Ok((RunFolder { path, dir, _lock: lock, _made: made }, control))
    }

    /// Path of the control file.
    pub fn control_path(&self) -> PathBuf {
        self.path.join(CONTROL)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A folder that contains at most a control file. On drop it is removed under this name, without being listed, so that
/// an unreadable disk does not prevent it.
struct UnfinishedFolder(PathBuf);

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        // Both fail if the folder has been renamed; otherwise, the next start removes what remains.
        let _ = fs::remove_file(self.0.join(CONTROL));
        let _ = fs::remove_dir(&self.0);
    }
}

/// Whether creating a folder failed because another process is removing it, has removed it, or has one of the same
/// name.
fn is_lost(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound, WouldBlock};
    matches!(error.kind(), NotFound | WouldBlock | DirectoryNotEmpty | AlreadyExists)
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path, &self.dir) {
            show_note(&format!("cannot remove {}: {error}", self.path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sweep::sweep;
    use super::*;

    #[test]
    fn only_its_owner_can_look_into_it() {
        let spill = tempfile::tempdir().unwrap();
        let (folder, _control) = RunFolder::create(spill.path(), 2, 1).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(&folder.path().join(CONTROL)), 0o600);
    }

    #[test]
    fn a_spill_folder_that_was_made_goes_unless_something_else_is_in_it() {
        let root = tempfile::tempdir().unwrap();
        let spill = root.path().join("a/b");
        let (one, _control) = RunFolder::create(&spill, 1, 1).unwrap();
        let (two, _control) = RunFolder::create(&spill, 1, 1).unwrap();
        drop(two);
        drop(one);
        assert!(!root.path().join("a").exists());

        let (one, _control) = RunFolder::create(&spill, 1, 1).unwrap();
        fs::write(root.path().join("a/mine"), "x").unwrap();
        drop(one);
        assert!(root.path().join("a/mine").exists() && !spill.exists());
    }

    /// Launchers that start in the same clock tick draw the same names.
    #[test]
    fn a_name_that_another_process_has_drawn_is_drawn_again() {
        let spill = tempfile::tempdir().unwrap();
        let create = || {
            fastrand::seed(7);
            RunFolder::create(spill.path(), 2, 1).unwrap()
        };
        let folders = [create(), create(), create()];
        assert_eq!(fs::read_dir(spill.path()).unwrap().count(), folders.len());
        assert!(folders.iter().all(|(folder, _)| folder.control_path().exists()));
        drop(folders);
        assert_eq!(fs::read_dir(spill.path()).unwrap().count(), 0);
    }

    /// Starting launchers sweep while others create their folders.
    #[test]
    fn a_living_process_never_loses_its_folder_while_it_makes_it() {
        let spill = tempfile::tempdir().unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let swept = sweep(spill.path());
                    assert!(swept.removed.is_empty(), "{swept:?}");
                }
            });
            for _ in 0..2000 {
                let made = RunFolder::attempt(spill.path(), 2, 1);
                if let Err(error) = &made {
                    done.store(true, std::sync::atomic::Ordering::Relaxed);
                    panic!("{error}");
                }
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(spill.path()).unwrap().count(), 0);
    }
}
