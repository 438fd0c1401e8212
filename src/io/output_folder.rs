//! Output folders that are either complete or empty.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::made_folders::MadeFolders;
use crate::platform::signals::Unfinished;
use crate::words::error::{Error, Result};

const EMPTY: &str = "name a new or an empty folder";

/// Prefix of the hidden folder's name.
const UNFINISHED: &str = ".unfinished-";

/// Number of letters and digits after the prefix.
const RANDOM: usize = 6;

/// A folder that is being written, such as that of a graph. Files are written to a hidden folder inside it, so that
/// they need not be copied, and moved when all are complete. If it is dropped before [`commit`](Self::commit), it
/// leaves nothing behind; if its process is killed, the next process that writes to the same folder removes the rest.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    // Dropped before `made`, which must then be empty.
    staging: TempDir,
    path: PathBuf,
    made: MadeFolders,
    _unfinished: Unfinished,
    /// `None` where folders cannot be locked.
    _lock: Option<FolderLock>,
}

impl OutputFolder {
    /// Creates `path`, or uses it if it is empty but for what killed processes have left.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.exists() && !path.is_dir() {
            let problem = format!("{} is not a folder", path.display());
            return Err(Error::config("out", problem).with_hint(EMPTY));
        }
        let made = MadeFolders::create(path, "out")?;
        let folder = File::open(path).map_err(|e| unwritable(path, &e))?;
        let lock = FolderLock::take(folder, path)?;
        clear(path, lock.is_some())?;
        let staging =
            tempfile::Builder::new().prefix(UNFINISHED).rand_bytes(RANDOM).tempdir_in(path);
        let staging = staging.map_err(|e| unwritable(path, &e))?;
        let unfinished = Unfinished::note(staging.path().to_owned(), made.paths().to_vec());
        let path = path.to_owned();
        Ok(OutputFolder { staging, path, made, _unfinished: unfinished, _lock: lock })
    }

    /// Removes a folder that holds only what killed processes have left. An empty folder stays: a process may have just
    /// created it.
    pub(crate) fn remove_abandoned(path: &Path) {
        // The folder is opened before its entries are read. So if another process replaces it, the lock is not on the new
        // folder, which that process is about to lock.
        let Ok(folder) = File::open(path) else { return };
        let is_abandoned = |found: &Vec<DirEntry>| !found.is_empty() && found.iter().all(is_left);
        if entries(path).is_ok_and(|found| is_abandoned(&found))
            && let Ok(Some(_lock)) = FolderLock::take(folder, path)
            && clear(path, true).is_ok()
        {
            // A folder that stays counts as taken.
            let _ = fs::remove_dir(path);
        }
    }

    /// The folder to write to.
    pub(crate) fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// The folder that is complete or empty.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves all files and folders from the staging folder to their final places, `last` after the others; all or none.
    pub(crate) fn commit(self, last: &str) -> Result<()> {
        let failed = |e| Error::io("read", self.staging(), e);
        let mut names = Vec::new();
        for entry in fs::read_dir(self.staging()).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name());
        }
        // NFS keeps files that are removed while they are open, under hidden names.
        names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
        names.sort_unstable_by_key(|name| name == last);
        for (done, name) in names.iter().enumerate() {
            let target = self.path.join(name);
            if let Err(error) = fs::rename(self.staging().join(name), &target) {
                for name in &names[..done] {
                    // Move it back to the folder that is removed; a failure here cannot be handled.
                    let _ = fs::rename(self.path.join(name), self.staging().join(name));
                }
                return Err(Error::io("create", &target, error));
            }
        }
        self.made.keep();
        Ok(())
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    let problem = format!("{} cannot be used: {error}", path.display());
    Error::shortage(&problem, error).unwrap_or_else(|| {
        Error::config("out", problem).with_hint("name a folder in which you may create files")
    })
}

/// The lock of a folder, which shows other processes that this one lives.
#[derive(Debug)]
struct FolderLock(File);

impl FolderLock {
    /// Locks a folder that was opened at a path, unless its file system locks none.
    fn take(folder: File, path: &Path) -> Result<Option<Self>> {
        match folder.try_lock() {
            // Since it was opened, another process may have removed it and created the next one.
            Ok(()) if is_at(&folder, path) => Ok(Some(FolderLock(folder))),
            Ok(()) | Err(TryLockError::WouldBlock) => {
                let problem = format!("another process is writing to {}", path.display());
                Err(Error::config("out", problem).with_hint(EMPTY))
            }
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Forked processes may still have the file.
        let _ = self.0.unlock();
    }
}

/// Whether an open folder is the one at a path.
fn is_at(folder: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let there = fs::metadata(path).map(identity);
    there.is_ok_and(|there| folder.metadata().map(identity).is_ok_and(|open| open == there))
}

/// The entries of a folder.
fn entries(path: &Path) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(path).and_then(Iterator::collect)
}

/// Checks that a folder holds nothing but what killed processes have left, and removes this. Only the lock shows that
/// they are dead.
fn clear(path: &Path, is_locked: bool) -> Result<()> {
    let entries = entries(path).map_err(|e| unwritable(path, &e))?;
    if let Some(other) = entries.iter().find(|entry| !is_left(entry)) {
        let name = other.file_name();
        let problem = format!("{} is not empty: it holds {}", path.display(), name.display());
        return Err(Error::config("out", problem).with_hint(EMPTY));
    }
    for left in entries.iter().map(DirEntry::path) {
        if !is_locked {
            let problem = format!("{} was left by a run that was killed", left.display());
            let hint = format!("remove {}", left.display());
            return Err(Error::config("out", problem).with_hint(hint));
        }
        fs::remove_dir_all(&left).map_err(|e| Error::io("remove", &left, e))?;
    }
    Ok(())
}

/// Whether this is a folder with a name like those of [`OutputFolder`].
fn is_left(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let random = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
    let is_random = |random: &str| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    random.is_some_and(is_random) && entry.file_type().is_ok_and(|ty| ty.is_dir())
}
