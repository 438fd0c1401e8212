//! New global ids for directories with original ids (`reshuffle=False`).
//!
//! New ids are assigned partition by partition, and inside a partition by ascending original id.

use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::blocks;
use crate::words::error::Result;
use std::ops::Range;

/// Replaces original node ids by new ones. `owner`, the partition of every original node, is read once; memory is
/// proportional to `ids` only. `range` returns the new ids of a partition.
pub(crate) fn nodes(
    owner: &ArrayRef,
    range: impl Fn(usize) -> Range<u64>,
    num_parts: usize,
    ids: &mut [u64],
) -> Result<()> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&at| ids[at]);
    let mut wanted = order.into_iter().peekable();
    let mut next: Vec<u64> = (0..num_parts).map(|part| range(part).start).collect();
    let mut parts = Vec::new();
    for rows in blocks::ranges(owner.num_rows()) {
        blocks::read(owner, rows.clone(), &mut parts)?;
        for (&part, original) in parts.iter().zip(rows) {
            let Some(new) = next.get_mut(part as usize) else {
                return Err(owner.fail(format!("assigns id {original} to partition {part}")));
            };
            while let Some(at) = wanted.next_if(|&at| ids[at] == original) {
                ids[at] = *new;
            }
            *new += 1;
        }
    }
    match wanted.peek() {
        None => Ok(()),
        Some(&at) => Err(owner.fail(format!("has no entry for node {}", ids[at]))),
    }
}
