//! Rows of a node feature kept in memory.

use crate::graph::{Bitmap, RankedBitmap};

/// Bytes per row that a list of nodes takes while their rows are read.
const LISTED: usize = 32;

/// Rows of selected nodes, and the set of these nodes. Takes 4 bytes per value, and 9 bits per node of the graph.
#[derive(Debug)]
pub(super) struct RowCache {
    members: RankedBitmap,
    rows: Vec<f32>,
    width: usize,
}

impl RowCache {
    /// Number of rows of `width` values that can be read into `bytes` bytes in a graph of `num_nodes` nodes.
    pub(super) fn capacity(bytes: u64, num_nodes: u64, width: usize) -> usize {
        let left = bytes.saturating_sub(num_nodes / 8 + num_nodes / 64);
        (left / (width * size_of::<f32>() + LISTED) as u64) as usize
    }

    /// Keeps the rows of `nodes` (ascending, below `num_nodes`), `[nodes.len(), width]`.
    pub(super) fn new(num_nodes: u64, nodes: &[u64], rows: Vec<f32>, width: usize) -> Self {
        let mut members = Bitmap::new(num_nodes);
        for node in nodes {
            members.insert(*node);
        }
        RowCache { members: RankedBitmap::new(members), rows, width }
    }

    /// A node's row, if it is kept.
    pub(super) fn row(&self, node: u64) -> Option<&[f32]> {
        let place = self.members.rank(node)? as usize * self.width;
        Some(&self.rows[place..][..self.width])
    }
}
