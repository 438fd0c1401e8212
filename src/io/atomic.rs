//! Output files that appear whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::words::error::{Error, Result};

/// Prefix of temporary names.
pub const UNFINISHED: &str = ".partial-";

/// A file written next to its final place, and renamed to it by [`commit`](AtomicFile::commit).
///
/// If dropped without a commit, it leaves nothing behind, and an earlier file of that name stays.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts a file that will become `path`. The folder must exist.
    ///
    /// # Errors
    /// If the file cannot be created (`Io`, `OutOfDisk`).
    pub fn create(path: &Path) -> Result<Self> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let temporary = tempfile::Builder::new()
            .prefix(UNFINISHED)
            // The umask applies, as for any other file of the user.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|e| Error::io("create", path, e))?;
        Ok(AtomicFile { temporary, path: path.to_owned() })
    }

    /// Makes a file of these bytes.
    ///
    /// # Errors
    /// If the file cannot be created, written or renamed (`Io`, `OutOfDisk`).
    pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
        let file = Self::create(path)?;
        file.file().write_all(bytes).map_err(|e| Error::io("write", path, e))?;
        file.commit()
    }

    /// Removes unfinished files that killed processes left in a folder. No other process may write there.
    ///
    /// # Errors
    /// If a file cannot be removed (`Io`).
    pub fn remove_leftovers(folder: &Path) -> Result<()> {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                let path = entry.path();
                std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
            }
        }
        Ok(())
    }

    /// The file being written.
    pub fn file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Makes the content durable and gives the file its name.
    ///
    /// # Errors
    /// If the file cannot be written or renamed (`Io`, `OutOfDisk`).
    pub fn commit(self) -> Result<()> {
        let Self { temporary, path } = self;
        let finish = || -> io::Result<()> {
            temporary.as_file().sync_all()?;
            temporary.persist(&path).map_err(|e| e.error)?;
            sync_folder(&path)
        };
        finish().map_err(|e| Error::io("write", &path, e))
    }
}

/// Renames a complete file durably, in place of any file at `to`.
///
/// # Errors
/// If the file cannot be renamed (`Io`, `OutOfDisk`).
pub fn replace(from: &Path, to: &Path) -> Result<()> {
    let renamed = std::fs::rename(from, to).and_then(|()| sync_folder(to));
    renamed.map_err(|e| Error::io("write", to, e))
}

/// Removes a file, if it exists.
///
/// # Errors
/// If the file cannot be removed (`Io`).
pub fn remove_if_exists(path: &Path) -> Result<()> {
    let missing = |e: io::Error| e.kind() == io::ErrorKind::NotFound;
    match std::fs::remove_file(path) {
        // A read-only file system refuses before it looks for the file.
        Err(_) if path.symlink_metadata().is_err_and(missing) => Ok(()),
        removed => removed.map_err(|e| Error::io("remove", path, e)),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
