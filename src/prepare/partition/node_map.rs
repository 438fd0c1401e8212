//! New ids of nodes.

use crate::graph::IdRanges;
use crate::prepare::import::RawGraph;

/// New homogeneous id of each node by old id, in 4 bytes per node as long as they suffice.
#[derive(Debug)]
pub(super) enum NodeMap {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl NodeMap {
    /// Bytes per node of a map for `nodes` nodes.
    pub(super) fn bytes_per_node(nodes: u64) -> u64 {
        if u32::try_from(nodes).is_ok() { 4 } else { 8 }
    }

    /// Numbers the nodes by partition and type, in their old order within each.
    pub(super) fn new(graph: &RawGraph, parts: &[u16], ranges: &IdRanges) -> Self {
        let mut map = match NodeMap::bytes_per_node(graph.num_nodes()) {
            4 => NodeMap::Narrow(Vec::with_capacity(parts.len())),
            _ => NodeMap::Wide(Vec::with_capacity(parts.len())),
        };
        let mut parts = parts.iter();
        for (ty, ntype) in graph.ntypes.iter().enumerate() {
            let starts = (0..ranges.num_parts()).map(|part| ranges.type_range(part, ty).start);
            let mut next: Vec<u64> = starts.collect();
            for &part in parts.by_ref().take(ntype.count as usize) {
                let id = &mut next[usize::from(part)];
                match &mut map {
                    NodeMap::Narrow(ids) => ids.push(*id as u32),
                    NodeMap::Wide(ids) => ids.push(*id),
                }
                *id += 1;
            }
        }
        map
    }

    /// The new id of a node.
    #[inline]
    pub(super) fn get(&self, node: u64) -> u64 {
        match self {
            NodeMap::Narrow(ids) => u64::from(ids[node as usize]),
            NodeMap::Wide(ids) => ids[node as usize],
        }
    }
}

/// Number of nodes of each type in each partition.
pub(super) fn node_counts(graph: &RawGraph, parts: &[u16], num_parts: usize) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; graph.ntypes.len()]; num_parts];
    let mut parts = parts.iter();
    for (ty, ntype) in graph.ntypes.iter().enumerate() {
        for &part in parts.by_ref().take(ntype.count as usize) {
            counts[usize::from(part)][ty] += 1;
        }
    }
    counts
}
