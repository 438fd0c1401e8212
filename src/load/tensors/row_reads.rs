//! Reads single rows of an array, with neighbouring ones together.

use std::ops::Range;

use crate::formats::dgl::ArrayRef;
use crate::words::error::Result;

/// Limits of rows that are read together, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Together {
    /// Maximum gap between two rows; a call costs more than reading the gap.
    pub(super) gap: u64,
    /// Maximum number of bytes read at a time, if a row is not longer.
    pub(super) most: u64,
}

/// Reads `count` rows of an array with `read` into `out`, which has rows of the same width, and returns the number of
/// bytes read. `row` returns the index of each row, in ascending order, and `place` its row in `out`.
pub(super) fn read_rows<T: Copy + Default>(
    array: &ArrayRef,
    Together { gap, most }: Together,
    count: usize,
    row: impl Fn(usize) -> u64,
    place: impl Fn(usize) -> usize,
    out: &mut [T],
    read: impl Fn(Range<u64>, &mut [T]) -> Result<()>,
) -> Result<u64> {
    let width = array.row_len() as usize;
    let row_bytes = (width as u64 * array.dtype().size() as u64).max(1);
    let (gap, most) = (gap / row_bytes + 1, (most / row_bytes).max(1));
    let (mut buffer, mut bytes, mut begin) = (Vec::new(), 0, 0);
    while begin < count {
        let first = row(begin);
        let joins = |i: &usize| row(*i) - row(*i - 1) <= gap && row(*i) - first < most;
        let end = (begin + 1..count).find(|i| !joins(i)).unwrap_or(count);
        let rows = row(end - 1) + 1 - first;
        let len = rows as usize * width;
        if buffer.len() < len {
            buffer.resize(len, T::default());
        }
        read(first..first + rows, &mut buffer[..len])?;
        bytes += rows * row_bytes;
        for i in begin..end {
            let from = (row(i) - first) as usize * width;
            out[place(i) * width..][..width].copy_from_slice(&buffer[from..][..width]);
        }
        begin = end;
    }
    Ok(bytes)
}
