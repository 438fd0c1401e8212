//! `node_map` and `edge_map`: ids by partition.

use super::field::Field;
use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::blocks;
use crate::words::error::Result;
use std::ops::Range;

/// The owner of every original id, in directories written with `reshuffle=False` (DGL 0.5 to 0.9).
#[derive(Clone, Debug)]
pub(crate) struct OriginalMaps {
    /// Partition number of each node.
    pub(crate) nodes: ArrayRef,
    /// Partition number of each edge.
    pub(crate) edges: ArrayRef,
}

/// Number of ids of each partition and type, from ranges. The ranges must tile the id space, partition by partition and
/// inside a partition type by type.
pub(super) fn counts(field: &Field<'_>, keys: &[String], parts: usize) -> Result<Vec<Vec<u64>>> {
    let mut ranges = Vec::with_capacity(keys.len());
    if field.value().is_array() {
        // DGL 0.5: the cumulative ends of the only type.
        if keys.len() != 1 {
            return Err(field.fail(format!("has one list for {} types", keys.len())));
        }
        ranges.push(type_ranges(field, parts)?);
    } else {
        let entries = field.object()?;
        if let Some(unknown) = entries.keys().find(|name| !keys.contains(name)) {
            return Err(field.fail(format!("unknown type {unknown:?}")));
        }
        for key in keys {
            ranges.push(type_ranges(&field.require(key)?, parts)?);
        }
    }
    let mut next = 0;
    let mut counts = Vec::with_capacity(parts);
    for part in 0..parts {
        let mut row = Vec::with_capacity(keys.len());
        for (key, ranges) in keys.iter().zip(&ranges) {
            let range = &ranges[part];
            if range.start != next || range.end < next {
                return Err(field.fail(format!(
                    "range [{}, {}) of {key:?} in partition {part} does not follow on {next}",
                    range.start, range.end
                )));
            }
            row.push(range.end - range.start);
            next = range.end;
        }
        counts.push(row);
    }
    Ok(counts)
}

/// The ranges of one type: a list of [start, end), or of ends if each range starts at the previous end.
fn type_ranges(field: &Field<'_>, parts: usize) -> Result<Vec<Range<u64>>> {
    let items = field.list()?;
    if items.len() != parts {
        return Err(field.fail(format!("has {} ranges for {parts} partitions", items.len())));
    }
    let mut ranges: Vec<Range<u64>> = Vec::with_capacity(parts);
    for item in items {
        let range = if item.value().is_array() {
            match &item.list()?[..] {
                [start, end] => start.number()?..end.number()?,
                _ => return Err(item.fail("must be [start, end]")),
            }
        } else {
            ranges.last().map_or(0, |previous| previous.end)..item.number()?
        };
        ranges.push(range);
    }
    Ok(ranges)
}

/// Number of ids of each partition, from a map with the partition of every original id.
pub(super) fn original_counts(map: &ArrayRef, due: u64, parts: usize) -> Result<Vec<Vec<u64>>> {
    if map.shape() != [due] || !map.dtype().is_integer() {
        let (dtype, shape) = (map.dtype(), map.shape());
        return Err(
            map.fail(format!("must hold {due} partition numbers, but is {dtype} {shape:?}"))
        );
    }
    let mut counts = vec![vec![0u64]; parts];
    let mut block = Vec::new();
    for rows in blocks::ranges(due) {
        blocks::read(map, rows.clone(), &mut block)?;
        for (&part, id) in block.iter().zip(rows) {
            let count = usize::try_from(part).ok().and_then(|part| counts.get_mut(part));
            let Some(count) = count else {
                return Err(
                    map.fail(format!("assigns id {id} to partition {part}, but there are {parts}"))
                );
            };
            count[0] += 1;
        }
    }
    Ok(counts)
}
