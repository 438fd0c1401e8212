//! A list of bad rows.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::io::{AtomicFile, UnnamedWriter};
use crate::words::error::{Error, ErrorKind, Result};

/// Errors of bad rows, one line each: in an unnamed file until all are known, then in a text file for the user.
#[derive(Debug)]
pub(crate) struct BadRowList {
    path: PathBuf,
    folder: PathBuf,
    found: RefCell<FoundRows>,
}

/// The bad rows so far.
#[derive(Debug, Default)]
struct FoundRows {
    lines: Option<UnnamedWriter>,
    count: u64,
    first: Option<Error>,
}

impl BadRowList {
    /// A list without rows; `path` will contain the list, and temporary files take space in `folder`.
    pub(crate) fn new(path: &Path, folder: &Path) -> Self {
        let (path, folder) = (path.to_owned(), folder.to_owned());
        BadRowList { path, folder, found: RefCell::default() }
    }

    /// A list for rows that are reported elsewhere.
    pub(crate) fn unheeded(folder: &Path) -> Rc<Self> {
        Rc::new(BadRowList::new(Path::new(""), folder))
    }

    /// Adds the error of a row. Errors of other kinds are returned.
    pub(crate) fn take(&self, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::Input {
            return Err(error);
        }
        let FoundRows { lines, count, first } = &mut *self.found.borrow_mut();
        if lines.is_none() {
            *lines = Some(UnnamedWriter::create(&self.folder)?);
        }
        if let Some(lines) = lines {
            lines.write(format!("{error}\n").as_bytes())?;
        }
        *count += 1;
        first.get_or_insert(error);
        Ok(())
    }

    /// Writes the list for the user, unless all rows were good; returns the number of bad rows, and the error of the first.
    pub(crate) fn finish(&self) -> Result<Option<(u64, Error)>> {
        let FoundRows { lines, count, first } = self.found.take();
        let Some((lines, first)) = lines.zip(first) else { return Ok(None) };
        let mut lines = lines.finish()?.file;
        let list = AtomicFile::create(&self.path)?;
        std::io::copy(&mut lines, &mut list.file())
            .map_err(|e| Error::io("write", &self.path, e))?;
        list.commit()?;
        Ok(Some((count, first)))
    }
}
