//! Reads single rows of an array, with neighbouring ones together.

use std::ops::Range;

use crate::formats::dgl::ArrayRef;
use crate::words::error::Result;

/// Maximum gap in bytes between rows that are read together; a call costs more than reading the gap.
const GAP: u64 = 512;
/// Maximum number of bytes read at a time (if a row is not longer), so that they are still in the processor's cache
/// when they are copied.
const LARGEST: u64 = 256 << 10;

/// Reads rows of an array with `read` into `out`, which has rows of the same width, and returns the number of bytes
/// read. `wanted` pairs each row's id, ascending, with its row in `out`; the array's first row has the id `first`.
pub(super) fn read_rows<T: Copy + Default>(
    array: &ArrayRef,
    first: u64,
    mut wanted: &[(u64, u32)],
    out: &mut [T],
    read: impl Fn(Range<u64>, &mut [T]) -> Result<()>,
) -> Result<u64> {
    let width = array.row_len() as usize;
    let row = |(id, _): &(u64, u32)| id - first;
    let row_bytes = (width as u64 * array.dtype().size() as u64).max(1);
    let (gap, largest) = (GAP / row_bytes + 1, (LARGEST / row_bytes).max(1));
    let (mut buffer, mut bytes) = (Vec::new(), 0);
    while let Some(begin) = wanted.first().map(row) {
        let mut last = begin;
        let run = wanted.iter().take_while(|i| {
            let joins = row(i) - last <= gap && row(i) - begin < largest;
            last = if joins { row(i) } else { last };
            joins
        });
        let (run, others) = wanted.split_at(run.count());
        wanted = others;
        let len = (last + 1 - begin) as usize * width;
        if buffer.len() < len {
            buffer.resize(len, T::default());
        }
        read(begin..last + 1, &mut buffer[..len])?;
        bytes += (last + 1 - begin) * row_bytes;
        for place @ (_, i) in run {
            let from = (row(place) - begin) as usize * width;
            out[*i as usize * width..][..width].copy_from_slice(&buffer[from..][..width]);
        }
    }
    Ok(bytes)
}
