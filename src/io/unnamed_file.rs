//! Files without a name.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::page_cache::ChangedPages;
use crate::words::error::{Error, Result};

/// Number of bytes that a writer collects before it writes them.
const BUFFER: usize = 256 << 10;

/// A file without a name, which disappears with the process, however the process ends.
#[derive(Debug)]
pub(crate) struct UnnamedFile {
    /// The file, at its start.
    pub(crate) file: File,
    folder: PathBuf,
    changed: ChangedPages,
}

impl UnnamedFile {
    /// Creates a file that takes its space in `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
        Ok(UnnamedFile { file, folder: folder.to_owned(), changed: ChangedPages::default() })
    }

    /// Fills `bytes` with those from an offset on.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(bytes, offset).map_err(|e| self.failed("read", e))
    }

    /// Writes bytes from an offset on.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = self.changed.write_all_at(&self.file, bytes, offset);
        written.map_err(|e| self.failed("write", e))
    }

    /// Gives all disk space back.
    pub(crate) fn clear(&self) -> Result<()> {
        self.file.set_len(0).map_err(|e| self.failed("cut", e))
    }

    fn failed(&self, action: &str, error: std::io::Error) -> Error {
        Error::io(&format!("{action} a temporary file in"), &self.folder, error)
    }
}

/// A writer of an unnamed file, from start to end.
#[derive(Debug)]
pub(crate) struct UnnamedWriter {
    file: UnnamedFile,
    buffer: Vec<u8>,
    /// Number of bytes in the file.
    written: u64,
}

impl UnnamedWriter {
    /// Creates a file that takes its space in `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let (file, buffer) = (UnnamedFile::create(folder)?, Vec::with_capacity(BUFFER));
        Ok(UnnamedWriter { file, buffer, written: 0 })
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the file, which holds all bytes.
    pub(crate) fn finish(mut self) -> Result<UnnamedFile> {
        self.flush()?;
        Ok(self.file)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_at(&self.buffer, self.written)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
