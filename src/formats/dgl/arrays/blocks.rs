//! Reads long columns in blocks of rows.

use super::array::ArrayRef;
use crate::words::error::Result;
use std::ops::Range;

/// Number of rows per block of a column.
const ROWS: u64 = 16 << 10;

/// Number of values per block of rows with several values.
const VALUES: u64 = 64 << 10;

/// Consecutive ranges that cover `0..rows`.
pub(crate) fn ranges(rows: u64) -> impl Iterator<Item = Range<u64>> {
    ranges_of(rows, ROWS)
}

/// Like [`ranges`], for rows of `width` values.
pub(crate) fn wide_ranges(rows: u64, width: u64) -> impl Iterator<Item = Range<u64>> {
    ranges_of(rows, (VALUES / width.max(1)).max(1))
}

fn ranges_of(rows: u64, at_once: u64) -> impl Iterator<Item = Range<u64>> {
    (0..rows).step_by(at_once as usize).map(move |start| start..rows.min(start + at_once))
}

/// Reads a range of rows into a reusable buffer.
pub(crate) fn read(array: &ArrayRef, rows: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
    out.resize((rows.end - rows.start) as usize, 0);
    array.read_u64(rows, out)
}

/// Like [`read`], for an optional column; the buffer is empty without it.
pub(crate) fn read_optional(
    array: Option<&ArrayRef>,
    rows: Range<u64>,
    out: &mut Vec<u64>,
) -> Result<()> {
    out.clear();
    array.map_or(Ok(()), |array| read(array, rows, out))
}

/// Converts a mask value to a boolean.
pub(crate) fn truth(mask: &ArrayRef, row: u64, value: u64) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(mask.fail(format!("row {row} of a mask is {value}, not 0 or 1"))),
    }
}
