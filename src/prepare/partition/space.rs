//! Disk space for partitioning.

use std::path::Path;

use super::edge_rules::RuledEdges;
use crate::io::{KeyLayout, check_space};
use crate::prepare::import::{RawEdges, RawGraph};
use crate::words::error::Result;

/// Bytes per edge in `graph.dgl` and `orig_eids.dgl`: both ends, id, `inner_edge`, original id.
const STORED: u64 = 33;

/// Disk space in bytes to cut a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionSpace {
    /// Peak of unnamed temporary files.
    pub temporary: u64,
    /// Lower bound for the partitions: their own edges, and the tables. Edges from other partitions are stored twice.
    pub partitions: u64,
}

impl PartitionSpace {
    /// The space for a graph with `num_edges` edges.
    ///
    /// # Errors
    /// If the graph is too large for any disk.
    pub fn of(graph: &RawGraph, num_edges: u64, num_parts: usize) -> Result<Self> {
        let (nodes, tables) = (graph.num_nodes(), graph.table_bytes());
        let types = graph.etypes.len() as u64;
        let neighbour = KeyLayout::new([nodes, nodes, 2])?.bytes() as u64;
        let sorted = KeyLayout::new([num_parts as u64, types, nodes, nodes, num_edges])?.bytes();
        let ordered = KeyLayout::new([nodes, nodes, num_edges])?.bytes() as u64;
        // As they were read, along with the runs of the first sort and of the second; then, in order, those from other partitions
        // twice. Sorted runs shrink while what is made of them grows.
        let while_sorted = RawEdges::BYTES + (2 * neighbour).max(sorted as u64);
        let of_edges = num_edges * while_sorted.max(2 * ordered);
        // Tables exist twice: on their way and at their places.
        Ok(PartitionSpace {
            temporary: of_edges.max(tables),
            partitions: num_edges * STORED + tables,
        })
    }
}

/// Refuses a graph that clearly exceeds the disk's room, after the bytes already written.
pub(super) fn check_room(
    graph: &RawGraph,
    edges: &RuledEdges<'_>,
    num_parts: usize,
    out: &Path,
) -> Result<()> {
    let least = (0..graph.etypes.len()).map(|etype| edges.least(etype)).sum();
    let space = PartitionSpace::of(graph, least, num_parts)?;
    // Edges that all lie within partitions are stored once.
    check_space("the graph", space.temporary / 2 + space.partitions, out)
}
