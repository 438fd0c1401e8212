//! Checks that the disk has room for a graph.

use std::path::Path;

use super::config::GeneratorConfig;
use crate::io;
use crate::words::error::Result;

/// Bytes of an edge while it waits for its partition, and in `graph.dgl`: both ends, id, `inner_edge`.
const PER_EDGE: u64 = 16 + 25;

/// Bytes of a node besides its features: id, partition and `inner_node`; label and three masks.
const PER_NODE: u64 = 17 + 11;

/// Bytes of the headers of a partition's three files.
const PER_PART: u64 = 3 * 4096;

/// Returns an error if the disk of `out` clearly has no room for the graph, before any work is done.
pub(super) fn check_space(config: &GeneratorConfig, out: &Path) -> Result<()> {
    let row = config.feature_dtype.dtype().size() as u64 * config.features;
    let of_nodes = config.nodes * (row + PER_NODE);
    let needed = of_nodes + config.edges * PER_EDGE + config.num_parts * PER_PART;
    io::check_space("the graph", needed, out)
}
