//! Output files that appear whole or not at all.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// How temporary names begin.
pub const UNFINISHED: &str = ".partial-";

/// A file written beside its final place and renamed to it by [`commit`](AtomicFile::commit).
///
/// Dropped without a commit, it leaves nothing behind and what was there before stays.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts a file that will be `path`; the folder must exist.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let temporary = tempfile::Builder::new()
            .prefix(UNFINISHED)
            // What the umask leaves of it, as for any other file of a user.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|e| Error::io("create", path, e))?;
        Ok(AtomicFile { temporary, path: path.to_owned() })
    }

    /// Removes what killed processes left of unfinished files in a folder that nobody else writes to.
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

    /// Makes the content durable and gives it its name.
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

/// Gives a complete file the name of another, which it takes the place of, durably.
pub fn replace(from: &Path, to: &Path) -> Result<()> {
    let renamed = std::fs::rename(from, to).and_then(|()| sync_folder(to));
    renamed.map_err(|e| Error::io("write", to, e))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
