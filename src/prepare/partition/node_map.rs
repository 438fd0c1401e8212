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

    /// Numbers the nodes by partition, type and community, in their old order within each.
    pub(super) fn new(
        graph: &RawGraph,
        parts: &[u16],
        ranges: &IdRanges,
        communities: Option<Vec<u16>>,
    ) -> Self {
        let nodes = graph.num_nodes();
        let first_nodes = graph.first_nodes();
        let starts =
            |ty| (0..ranges.num_parts()).map(move |part| ranges.type_range(part, ty).start);
        let mut next: Vec<Vec<u64>> =
            (0..graph.ntypes.len()).map(|ty| starts(ty).collect()).collect();
        let order = communities.map(NodeMap::sorted);
        let mut map = NodeMap::zeros(nodes);
        for at in 0..nodes {
            let node = order.as_ref().map_or(at, |order| order.get(at));
            let ty = first_nodes.partition_point(|first| *first <= node) - 1;
            let id = &mut next[ty][usize::from(parts[node as usize])];
            map.set(node, *id);
            *id += 1;
        }
        map
    }

    /// The nodes by community, in their order within each.
    fn sorted(communities: Vec<u16>) -> Self {
        let mut places = vec![0u64; 1 << 16];
        for community in &communities {
            places[usize::from(*community)] += 1;
        }
        let mut end = 0;
        for count in &mut places {
            end += std::mem::replace(count, end);
        }
        let mut order = NodeMap::zeros(communities.len() as u64);
        for (node, community) in (0..).zip(communities) {
            let place = &mut places[usize::from(community)];
            order.set(*place, node);
            *place += 1;
        }
        order
    }

    fn zeros(nodes: u64) -> Self {
        match NodeMap::bytes_per_node(nodes) {
            4 => NodeMap::Narrow(vec![0; nodes as usize]),
            _ => NodeMap::Wide(vec![0; nodes as usize]),
        }
    }

    fn set(&mut self, at: u64, id: u64) {
        match self {
            NodeMap::Narrow(ids) => ids[at as usize] = id as u32,
            NodeMap::Wide(ids) => ids[at as usize] = id,
        }
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
