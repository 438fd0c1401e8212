//! Arrays of a node table on their way to unnamed files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::file::InputFile;
use crate::io::Dtype;

/// An array on its way to an unnamed file.
pub(super) struct ColumnFile {
    pub(super) name: String,
    dtype: Dtype,
    /// Whether rows have a dimension, even if they are one value wide.
    is_wide: bool,
    folder: PathBuf,
    file: BufWriter<File>,
    /// The current row, and the size of the rows before it.
    pub(super) row: Vec<u8>,
    row_bytes: usize,
}

impl ColumnFile {
    pub(super) fn create(name: &str, dtype: Dtype, is_wide: bool, folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
        let file = BufWriter::with_capacity(256 << 10, file);
        let (name, folder) = (name.to_owned(), folder.to_owned());
        Ok(ColumnFile { name, dtype, is_wide, folder, file, row: Vec::new(), row_bytes: 0 })
    }

    pub(super) fn end_row(&mut self) -> Result<()> {
        let written = self.file.write_all(&self.row);
        self.row_bytes = self.row.len();
        self.row.clear();
        written.map_err(|e| Error::io("write a temporary file in", &self.folder, e))
    }

    pub(super) fn finish(self, path: &Path, rows: u64) -> Result<ArrayRef> {
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error);
        let file = file.map_err(|e| Error::io("write a temporary file in", &self.folder, e))?;
        let file = InputFile::from_open(path, file)?;
        let width = (self.row_bytes / self.dtype.size()) as u64;
        let shape = if self.is_wide { vec![rows, width] } else { vec![rows] };
        ArrayRef::new(&file, "", self.dtype, shape, 0)
            .ok_or_else(|| Error::internal("a table is shorter than what was written".to_owned()))
    }
}
