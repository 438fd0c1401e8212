//! Files without a name, written from start to end.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Number of bytes held in memory.
const BUFFER: usize = 256 << 10;

/// A file without a name, which disappears with the process, however the process ends.
#[derive(Debug)]
pub(crate) struct UnnamedFile {
    folder: PathBuf,
    out: BufWriter<File>,
}

impl UnnamedFile {
    /// Creates a file that takes its space in `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(UnnamedFile { folder: folder.to_owned(), out })
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| unwritten(&self.folder, e))
    }

    /// Ends the file, which holds all bytes, and returns it with its folder for messages.
    pub(crate) fn finish(self) -> Result<(File, PathBuf)> {
        let file = self.out.into_inner().map_err(std::io::IntoInnerError::into_error);
        let file = file.map_err(|e| unwritten(&self.folder, e))?;
        Ok((file, self.folder))
    }
}

fn unwritten(folder: &Path, error: std::io::Error) -> Error {
    Error::io("write a temporary file in", folder, error)
}
