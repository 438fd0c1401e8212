//! Whether there is room on the disk for a graph.

use std::path::Path;

use super::config::GeneratorConfig;
use crate::error::Result;
use crate::formats::dgl::writer;

/// Bytes of an edge while it waits for its partition, and in `graph.dgl`: both ends, id, `inner_edge`.
const PER_EDGE: u64 = 16 + 25;

/// Bytes of a node beside its features: id, partition and `inner_node`; label and three masks.
const PER_NODE: u64 = 17 + 11;

/// Headers of a partition's three files.
const PER_PART: u64 = 3 * 4096;

/// Refuses a graph for which there is clearly no room where `out` is to be, before any work is done.
pub(super) fn check_space(config: &GeneratorConfig, out: &Path) -> Result<()> {
    let of_nodes = config.nodes * (4 * config.features + PER_NODE);
    let needed = of_nodes + config.edges * PER_EDGE + config.num_parts * PER_PART;
    writer::check_space("the graph", needed, out)
}
