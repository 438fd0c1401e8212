//! A check that the disk has room for partitions.

use std::path::Path;

use super::edge_rules::RuledEdges;
use crate::error::Result;
use crate::formats::dgl::writer::check_space;
use crate::prepare::import::RawGraph;

/// Smallest size in bytes of an edge in temporary files that exist while its final ones are written: ends and id, twice.
const SPOOLED: u64 = 16;

/// Size in bytes of an edge in `graph.dgl` and `orig_eids.dgl`: both ends, id, `inner_edge`, original id.
const STORED: u64 = 33;

/// Refuses a graph for which the disk clearly has no room, given what has been written already.
pub(super) fn check_room(graph: &RawGraph, edges: &RuledEdges<'_>, out: &Path) -> Result<()> {
    let of_edges: u64 = (0..graph.etypes.len()).map(|etype| edges.least(etype)).sum();
    // Tables exist twice: on their way and at their places.
    let needed = of_edges * (SPOOLED + STORED) + 2 * graph.table_bytes();
    check_space("the graph", needed, out)
}
