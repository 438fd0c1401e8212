//! Input files that several readers read at arbitrary offsets.

use crate::io::{drop_pages, open_input};
use crate::words::error::{Error, Result};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open input file and its length at the time it was opened.
#[derive(Debug)]
pub(crate) struct InputFile {
    path: PathBuf,
    file: File,
    len: u64,
}

impl InputFile {
    /// Opens `path`.
    pub(crate) fn open(path: &Path) -> Result<Arc<Self>> {
        let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
        Self::from_open(path, file)
    }

    /// Wraps an open file; errors name `path`, from which its content came.
    pub(crate) fn from_open(path: &Path, file: File) -> Result<Arc<Self>> {
        let len = file.metadata().map_err(|e| Error::unreadable(path, &e))?.len();
        Ok(Arc::new(InputFile { path: path.to_owned(), file, len }))
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the file in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `out` with bytes starting at `offset`; errors name `field`.
    pub(crate) fn read_at(&self, field: &str, offset: u64, out: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(out, offset).map_err(|e| {
            let problem = match e.kind() {
                ErrorKind::UnexpectedEof => {
                    format!("the file ends before byte {}", offset.saturating_add(out.len() as u64))
                }
                _ => format!("cannot be read: {e}"),
            };
            Error::input(&self.path, field, problem)
        })
    }

    /// Drops bytes from the system's page cache.
    pub(crate) fn drop_cached(&self, offset: u64, len: u64) -> Result<()> {
        drop_pages(&self.file, offset, len).map_err(|e| Error::unreadable(&self.path, &e))
    }

    /// An error in `field` of this file.
    pub(crate) fn fail(&self, field: &str, problem: impl Into<String>) -> Error {
        Error::input(&self.path, field, problem)
    }
}
