//! Files that one rank writes and all ranks read.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::io::{ChangedPages, new_private_file};
use crate::words::error::{Error, Result};

/// A file in the run's folder while its rank writes it.
pub(super) struct SharedFile {
    path: PathBuf,
    file: File,
    changed: ChangedPages,
}

impl SharedFile {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = new_private_file().open(path).map_err(|e| Error::io("create", path, e))?;
        Ok(SharedFile { path: path.to_owned(), file, changed: ChangedPages::default() })
    }

    /// Writes bytes from an offset on.
    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let written = self.changed.write_all_at(&self.file, bytes, at);
        written.map_err(|e| Error::io("write", &self.path, e))
    }
}
