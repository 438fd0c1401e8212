//! The elements of one array of an output file.

use crate::io::{ChangedPages, Dtype};
use crate::words::error::{Error, Result};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of bytes collected before they are written.
const BUFFER: usize = 64 << 10;

/// Writes the elements of an array of known length, in order and in chunks of any size.
#[derive(Debug)]
pub struct ArrayWriter {
    file: Arc<File>,
    path: PathBuf,
    name: String,
    dtype: Dtype,
    /// Offset of the next bytes, and end of the array.
    room: Range<u64>,
    buffer: Vec<u8>,
    changed: ChangedPages,
}

impl ArrayWriter {
    pub(super) fn new(
        file: &Arc<File>,
        path: &Path,
        name: &str,
        dtype: Dtype,
        room: Range<u64>,
    ) -> Self {
        ArrayWriter {
            file: Arc::clone(file),
            path: path.to_owned(),
            name: name.to_owned(),
            dtype,
            room,
            buffer: Vec::new(),
            changed: ChangedPages::default(),
        }
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Appends elements in stored form (little endian).
    ///
    /// # Errors
    /// If the array is full, or the file cannot be written.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes.len())?;
        if self.buffer.len() + bytes.len() <= BUFFER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.write(bytes)
    }

    /// Appends elements of a `float32` array.
    ///
    /// # Errors
    /// As for [`Self::append_bytes`], or if the array has another type.
    pub fn append_f32(&mut self, values: &[f32]) -> Result<()> {
        self.append(values, Dtype::F32, f32::to_le_bytes)
    }

    /// Appends elements of an `int64` array.
    ///
    /// # Errors
    /// As for [`Self::append_bytes`], or if the array has another type.
    pub fn append_i64(&mut self, values: &[i64]) -> Result<()> {
        self.append(values, Dtype::I64, i64::to_le_bytes)
    }

    /// Appends ids to an `int64` array; they must be below 2^63.
    pub(super) fn append_ids(&mut self, ids: impl IntoIterator<Item = u64>) -> Result<()> {
        for id in ids {
            self.append_bytes(&id.to_le_bytes())?;
        }
        Ok(())
    }

    /// Writes the rest of the buffer.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        if self.room.is_empty() {
            return Ok(());
        }
        let missing = (self.room.end - self.room.start) / self.dtype.size() as u64;
        Err(self.misused(&format!("{missing} elements are missing")))
    }

    fn append<T: Copy, const N: usize>(
        &mut self,
        values: &[T],
        dtype: Dtype,
        bytes: impl Fn(T) -> [u8; N],
    ) -> Result<()> {
        if dtype != self.dtype {
            return Err(self.misused(&format!("{dtype} elements for a {} array", self.dtype)));
        }
        values.iter().try_for_each(|&value| self.append_bytes(&bytes(value)))
    }

    fn reserve(&self, bytes: usize) -> Result<()> {
        let end = self.room.start + (self.buffer.len() + bytes) as u64;
        if end > self.room.end {
            return Err(self.misused("more elements than were announced"));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.write(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.changed.write_all_at(&self.file, bytes, self.room.start);
        written.map_err(|e| Error::io("write", &self.path, e))?;
        self.room.start += bytes.len() as u64;
        Ok(())
    }

    /// An internal error: the caller is responsible for lengths, so a wrong one is not the fault of a file.
    fn misused(&self, problem: &str) -> Error {
        Error::internal(format!("writing {} of {}: {problem}", self.name, self.path.display()))
    }
}
