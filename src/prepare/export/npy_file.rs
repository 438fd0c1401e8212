//! ExportedArrays of NumPy that are being written.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::io::{Dtype, npy_header};
use crate::words::error::{Error, Result};

/// A `.npy` file, written from start to end.
pub(super) struct NpyFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl NpyFile {
    /// Creates a file for an array of this shape.
    pub(super) fn create(path: &Path, dtype: Dtype, shape: &[u64]) -> Result<Self> {
        let header = npy_header(dtype, shape)?;
        let file = File::create_new(path).map_err(|e| Error::io("create", path, e))?;
        let mut npy = NpyFile { path: path.to_owned(), out: BufWriter::new(file) };
        npy.write(&header)?;
        Ok(npy)
    }

    /// Appends elements in stored form.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| Error::io("write", &self.path, e))
    }

    /// Ends the file, which is then on the disk.
    pub(super) fn finish(self) -> Result<()> {
        let file = self.out.into_inner().map_err(std::io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).map_err(|e| Error::io("write", &self.path, e))
    }
}
