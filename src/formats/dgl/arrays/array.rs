//! Arrays inside a file whose header has been read.

use super::file::InputFile;
use crate::io::Dtype;
use crate::words::error::{Error, Result};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Number of bytes converted at a time: enough for few system calls, few enough for the cache.
const CHUNK: usize = 64 << 10;

/// A row-major array in a file: type, shape and offset. Rows are read on request.
///
/// The first dimension counts rows; an array without dimensions has one row of one element.
#[derive(Clone, Debug)]
pub struct ArrayRef {
    file: Arc<InputFile>,
    name: String,
    dtype: Dtype,
    shape: Vec<u64>,
    offset: u64,
}

impl ArrayRef {
    /// The array of `shape` at `offset`; `None` if it exceeds the file.
    pub(crate) fn new(
        file: &Arc<InputFile>,
        name: &str,
        dtype: Dtype,
        shape: Vec<u64>,
        offset: u64,
    ) -> Option<Self> {
        let end = offset.checked_add(byte_len(dtype, &shape)?)?;
        let file = (end <= file.len()).then(|| Arc::clone(file))?;
        Some(ArrayRef { file, name: name.to_owned(), dtype, shape, offset })
    }

    /// The array, which must be a vector of integers, as ids and masks are.
    pub(crate) fn integers(&self) -> Result<Self> {
        if self.shape.len() == 1 && self.dtype.is_integer() {
            return Ok(self.clone());
        }
        let (dtype, shape) = (self.dtype, &self.shape);
        Err(self.fail(format!("must be a vector of integers, but is {dtype} {shape:?}")))
    }

    /// Name of this array in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Sizes of all dimensions.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Offset of the first element in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of rows.
    pub fn num_rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }

    /// Sizes of the dimensions of one row.
    pub fn row_shape(&self) -> &[u64] {
        self.shape.get(1..).unwrap_or(&[])
    }

    /// Number of elements of one row.
    pub fn row_len(&self) -> u64 {
        // Without rows, the file's size does not limit the product.
        self.row_shape().iter().fold(1, |product, &size| product.saturating_mul(size))
    }

    /// Size of all rows in bytes.
    pub fn byte_len(&self) -> u64 {
        byte_len(self.dtype, &self.shape).unwrap_or(0)
    }

    /// A range of the rows as a separate array; `None` if the array has fewer rows.
    pub(crate) fn rows(&self, rows: Range<u64>) -> Option<Self> {
        if rows.start > rows.end || rows.end > self.num_rows() || self.shape.is_empty() {
            return None;
        }
        let mut shape = self.shape.clone();
        shape[0] = rows.end - rows.start;
        let row = self.row_len() * self.dtype.size() as u64;
        Some(ArrayRef { shape, offset: self.offset + rows.start * row, ..self.clone() })
    }

    /// The same elements as a one-dimensional array.
    pub(crate) fn flat(&self) -> Self {
        let elements = self.num_rows().saturating_mul(self.row_len());
        ArrayRef { shape: vec![elements], ..self.clone() }
    }

    /// Fills `out` with rows as they are stored (little endian).
    ///
    /// # Errors
    /// If rows lie beyond the end, `out` has another size, or the file cannot be read.
    pub fn read_rows(&self, rows: Range<u64>, out: &mut [u8]) -> Result<()> {
        let start = self.start_of(&rows, out.len() as u64, self.dtype.size() as u64)?;
        self.file.read_at(&self.name, start, out)
    }

    /// Fills `out` with rows, converted to `f32`.
    ///
    /// # Errors
    /// As for [`Self::read_rows`].
    pub fn read_f32(&self, rows: Range<u64>, out: &mut [f32]) -> Result<()> {
        if self.dtype == Dtype::F32 && cfg!(target_endian = "little") {
            return self.read_rows(rows, bytemuck::cast_slice_mut(out));
        }
        self.convert(rows, out, |dtype, bytes, out| {
            dtype.to_f32(bytes, out);
            Ok(())
        })
    }

    /// Fills `out` with rows, converted to `f64`.
    ///
    /// # Errors
    /// As for [`Self::read_rows`].
    pub fn read_f64(&self, rows: Range<u64>, out: &mut [f64]) -> Result<()> {
        self.convert(rows, out, |dtype, bytes, out| {
            dtype.to_f64(bytes, out);
            Ok(())
        })
    }

    /// Fills `out` with rows, converted without loss.
    ///
    /// # Errors
    /// As for [`Self::read_rows`], or if a value is not an `i64`, for example a fraction.
    pub fn read_i64(&self, rows: Range<u64>, out: &mut [i64]) -> Result<()> {
        self.convert(rows, out, Dtype::to_i64)
    }

    /// Fills `out` with rows of ids or counts.
    ///
    /// # Errors
    /// As for [`Self::read_i64`], or if a value is negative.
    pub fn read_u64(&self, rows: Range<u64>, out: &mut [u64]) -> Result<()> {
        self.convert(rows, out, |dtype, bytes, out| {
            dtype.to_i64(bytes, bytemuck::cast_slice_mut(out))?;
            // A set sign bit means a negative number, because `to_i64` returns nothing above 2^63.
            out.iter().position(|&value| value >> 63 != 0).map_or(Ok(()), Err)
        })
    }

    /// Drops rows that have been read from the page cache.
    ///
    /// # Errors
    /// If the system refuses (`Io`).
    pub fn drop_cached(&self, rows: Range<u64>) -> Result<()> {
        let row = self.row_len() * self.dtype.size() as u64;
        self.file.drop_cached(self.offset + rows.start * row, (rows.end - rows.start) * row)
    }

    /// An error about this array.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        self.file.fail(&self.name, problem)
    }

    fn convert<T>(
        &self,
        rows: Range<u64>,
        out: &mut [T],
        convert: impl Fn(Dtype, &[u8], &mut [T]) -> Result<(), usize>,
    ) -> Result<()> {
        let size = self.dtype.size();
        let mut at = self.start_of(&rows, out.len() as u64, 1)?;
        let mut scratch = vec![0; (out.len() * size).min(CHUNK)];
        for piece in out.chunks_mut(CHUNK / size) {
            let bytes = &mut scratch[..piece.len() * size];
            self.file.read_at(&self.name, at, bytes)?;
            convert(self.dtype, bytes, piece).map_err(|index| {
                let element = (at - self.offset) / size as u64 + index as u64;
                let row = element / self.row_len().max(1);
                self.fail(format!("row {row} holds a value that is not a valid id or integer"))
            })?;
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Offset of a range of rows; checks that it matches a buffer of `len` units of `unit` bytes (1: elements).
    fn start_of(&self, rows: &Range<u64>, len: u64, unit: u64) -> Result<u64> {
        let count = rows.end.checked_sub(rows.start).filter(|_| rows.end <= self.num_rows());
        let Some(count) = count else {
            return Err(self.fail(format!(
                "rows {}..{} of {} were requested",
                rows.start,
                rows.end,
                self.num_rows()
            )));
        };
        let per_row = self.row_len().saturating_mul(unit);
        if count.checked_mul(per_row) != Some(len) {
            return Err(Error::internal(format!(
                "{}: {count} rows of {per_row} do not fill a buffer of {len}",
                self.name
            )));
        }
        Ok(self.offset + rows.start * self.row_len() * self.dtype.size() as u64)
    }
}

/// Size of an array in bytes, if it fits in 64 bits.
pub(crate) fn byte_len(dtype: Dtype, shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(dtype.size() as u64, |product, &size| product.checked_mul(size))
}
