//! Training nodes of a graph.

use crate::error::Result;
use crate::graph::Bitmap;
use crate::load::MASKS;
use crate::prepare::import::{RawGraph, Table};

/// Number of rows read at a time.
const BLOCK: u64 = 1 << 16;

/// Nodes in the usual mask, by homogeneous id; `None` without the mask.
pub(super) fn train_nodes(graph: &RawGraph) -> Result<Option<Bitmap>> {
    let first_nodes = graph.first_nodes();
    let mut found = None;
    for (ntype, first) in graph.ntypes.iter().zip(first_nodes) {
        let Some((_, mask)) = ntype.data.iter().find(|(name, _)| name == MASKS[0]) else {
            continue;
        };
        let set = found.get_or_insert_with(|| Bitmap::new(graph.num_nodes()));
        read_mask(mask, |node| {
            set.insert(first + node);
        })?;
    }
    Ok(found)
}

fn read_mask(mask: &Table, mut take: impl FnMut(u64)) -> Result<()> {
    let mut values = Vec::new();
    for first in (0..mask.num_rows()).step_by(BLOCK as usize) {
        let rows = first..mask.num_rows().min(first + BLOCK);
        values.resize((rows.end - rows.start) as usize, 0);
        mask.read_i64(rows.clone(), &mut values)?;
        for (_, node) in values.iter().zip(rows).filter(|(value, _)| **value != 0) {
            take(node);
        }
    }
    Ok(())
}
