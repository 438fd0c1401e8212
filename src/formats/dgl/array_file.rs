//! Arrays on their way to unnamed files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::array::ArrayRef;
use super::file::InputFile;
use crate::error::{Error, Result};
use crate::io::Dtype;

/// An array whose elements are written one after the other to a file without a name.
pub(crate) struct ArrayFile {
    folder: PathBuf,
    out: BufWriter<File>,
}

impl ArrayFile {
    /// An array that takes its space in `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
        let out = BufWriter::with_capacity(256 << 10, file);
        Ok(ArrayFile { folder: folder.to_owned(), out })
    }

    /// Appends bytes of elements, little endian.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.out.write_all(bytes);
        written.map_err(|e| Error::io("write a temporary file in", &self.folder, e))
    }

    /// The array; errors about it name `path`, where its content came from.
    pub(crate) fn finish(self, path: &Path, dtype: Dtype, shape: Vec<u64>) -> Result<ArrayRef> {
        let file = self.out.into_inner().map_err(std::io::IntoInnerError::into_error);
        let file = file.map_err(|e| Error::io("write a temporary file in", &self.folder, e))?;
        let file = InputFile::from_open(path, file)?;
        ArrayRef::new(&file, "", dtype, shape, 0)
            .ok_or_else(|| Error::internal("an array is shorter than what was written".to_owned()))
    }
}
