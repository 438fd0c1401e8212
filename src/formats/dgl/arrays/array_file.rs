//! Arrays written to unnamed files.

use std::path::Path;

use super::array::ArrayRef;
use super::file::InputFile;
use crate::io::{Dtype, UnnamedWriter};
use crate::words::error::{Error, Result};

/// An array whose elements are appended to a file without a name.
pub(crate) struct ArrayFile(UnnamedWriter);

impl ArrayFile {
    /// Creates an array whose disk space is taken in `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        UnnamedWriter::create(folder).map(ArrayFile)
    }

    /// Appends bytes of elements, little endian.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write(bytes)
    }

    /// The finished array; errors about it name `path`, from which its content came.
    pub(crate) fn finish(self, path: &Path, dtype: Dtype, shape: Vec<u64>) -> Result<ArrayRef> {
        let file = InputFile::from_open(path, self.0.finish()?.file)?;
        ArrayRef::new(&file, "", dtype, shape, 0)
            .ok_or_else(|| Error::internal("an array is shorter than what was written"))
    }
}
