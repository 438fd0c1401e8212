//! Reads rows that must be finite, because one NaN or infinity would spoil a whole model.

use std::ops::Range;

use super::array::ArrayRef;
use crate::io::{first_not_finite, first_not_finite_f64};
use crate::words::error::{Error, Result};

impl ArrayRef {
    /// Fills `out` with converted rows, and checks them while they are in the processor's cache.
    ///
    /// # Errors
    /// As for [`Self::read_rows`], or if a value is NaN, infinite, or too large for a `float32`.
    pub fn read_finite_f32(&self, rows: Range<u64>, out: &mut [f32]) -> Result<()> {
        self.read_f32(rows.clone(), out)?;
        match first_not_finite(out) {
            None => Ok(()),
            Some(at) => Err(self.not_finite(rows.start, at as u64)),
        }
    }

    /// Like [`Self::read_finite_f32`], in double precision.
    ///
    /// # Errors
    /// As for [`Self::read_rows`], or if a value is NaN or infinite.
    pub fn read_finite_f64(&self, rows: Range<u64>, out: &mut [f64]) -> Result<()> {
        self.read_f64(rows.clone(), out)?;
        match first_not_finite_f64(out) {
            None => Ok(()),
            Some(at) => Err(self.not_finite(rows.start, at as u64)),
        }
    }

    /// The error for the element at index `at` from the start of row `first`.
    fn not_finite(&self, first: u64, at: u64) -> Error {
        let (row, column) = (first + at / self.row_len(), at % self.row_len());
        let mut stored = vec![0.0; self.row_len() as usize];
        if let Err(error) = self.read_f64(row..row + 1, &mut stored) {
            return error;
        }
        let value = stored[column as usize];
        let place = self.place(row, column);
        if value.is_finite() {
            return self
                .fail(format!("{place} holds {value:e}, which is too large for float32"))
                .with_hint("scale the values to a range of at most 3.4e38");
        }
        self.fail(format!("{place} holds {value}, which is not a finite number"))
            .with_hint("replace such values (numpy.nan_to_num does it) and write the file again")
    }

    /// Formats a place as "row 3, column 7", counted from 0.
    pub(crate) fn place(&self, row: u64, column: u64) -> String {
        if self.row_shape().is_empty() {
            return format!("row {row}");
        }
        format!("row {row}, column {column}")
    }
}
