//! A list of bad rows.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::io::AtomicFile;

/// The errors of bad rows, a line for each: in an unnamed file until all are known, then in a text file for the user.
#[derive(Debug)]
pub(crate) struct BadRowList {
    path: PathBuf,
    folder: PathBuf,
    found: RefCell<FoundRows>,
}

/// The bad rows so far.
#[derive(Debug, Default)]
struct FoundRows {
    lines: Option<BufWriter<File>>,
    count: u64,
    first: Option<Error>,
}

/// The number of bad rows, and the error of the first.
pub(crate) struct BadRowSummary {
    pub(crate) count: u64,
    pub(crate) first: Error,
}

impl BadRowList {
    /// No bad rows so far; `path` will list them, and temporary files take their space in `folder`.
    pub(crate) fn new(path: &Path, folder: &Path) -> Self {
        let (path, folder) = (path.to_owned(), folder.to_owned());
        BadRowList { path, folder, found: RefCell::default() }
    }

    /// Takes the error of a row. An error of another kind is returned.
    pub(crate) fn take(&self, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::Input {
            return Err(error);
        }
        let FoundRows { lines, count, first } = &mut *self.found.borrow_mut();
        if lines.is_none() {
            let file = tempfile::tempfile_in(&self.folder);
            let file = file.map_err(|e| Error::io("create", &self.folder, e))?;
            *lines = Some(BufWriter::new(file));
        }
        if let Some(lines) = lines {
            writeln!(lines, "{error}").map_err(|e| self.unwritable(e))?;
        }
        *count += 1;
        first.get_or_insert(error);
        Ok(())
    }

    /// Writes the list for the user. `None` if there are no bad rows.
    pub(crate) fn finish(&self) -> Result<Option<BadRowSummary>> {
        let FoundRows { lines, count, first } = self.found.take();
        let Some((lines, first)) = lines.zip(first) else { return Ok(None) };
        let lines = lines.into_inner().map_err(std::io::IntoInnerError::into_error);
        let mut lines = lines.map_err(|e| self.unwritable(e))?;
        lines.rewind().map_err(|e| self.unwritable(e))?;
        let list = AtomicFile::create(&self.path)?;
        std::io::copy(&mut lines, &mut list.file())
            .map_err(|e| Error::io("write", &self.path, e))?;
        list.commit()?;
        Ok(Some(BadRowSummary { count, first }))
    }

    fn unwritable(&self, error: std::io::Error) -> Error {
        Error::io("write a temporary file in", &self.folder, error)
    }
}
