//! Small clusters of nodes with many edges inside.

use super::counts::LabelCounts;
use crate::prepare::partition::adjacency::Adjacency;
use crate::prepare::partition::progress::Meter;
use crate::words::error::Result;

/// Largest number of clusters: a node has 16 bits, one value of which means none.
const MAX_CLUSTERS: u64 = u16::MAX as u64;

/// Cluster of a node that has none yet.
const NONE: u16 = u16::MAX;

/// Number of passes over the edges.
pub(super) const PASSES: u64 = 4;

/// Largest size of a cluster, in multiples of the mean.
const ROOM: u64 = 3;

/// Returns the cluster of each node, and the number of clusters. Graphs of fewer than 65536 nodes have a cluster per
/// node.
///
/// Label propagation (Raghavan et al. 2007) with a limit on sizes (Meyerhenke et al. 2014): a node joins the cluster of
/// most of its neighbours. New clusters start evenly along the order of nodes, at nodes without a neighbour in a
/// cluster with room.
pub(super) fn find_clusters(
    adjacency: &Adjacency,
    meter: &mut Meter<'_, '_>,
) -> Result<(Vec<u16>, usize)> {
    let nodes = adjacency.num_nodes;
    if nodes <= MAX_CLUSTERS {
        return Ok(((0..nodes).map(|node| node as u16).collect(), nodes as usize));
    }
    let mut clusters = Clusters {
        labels: vec![NONE; nodes as usize],
        sizes: Vec::with_capacity(MAX_CLUSTERS as usize),
        limit: (ROOM * nodes).div_ceil(MAX_CLUSTERS) as u32,
        filling: 0,
        counts: LabelCounts::new(MAX_CLUSTERS as usize),
    };
    for pass in 0..PASSES {
        let mut reader = adjacency.read();
        for node in 0..nodes {
            meter.tick()?;
            reader.node()?;
            while let Some(neighbour) = reader.neighbour()? {
                let label = clusters.labels[neighbour as usize];
                if label != NONE {
                    clusters.counts.add(label);
                }
            }
            // At most this node's share of clusters may have been started.
            let allowed =
                ((u128::from(node) + 1) * u128::from(MAX_CLUSTERS) / u128::from(nodes)) as usize;
            let allowed = if pass == 0 { allowed } else { MAX_CLUSTERS as usize };
            clusters.place(node as usize, allowed, pass + 1 == PASSES);
        }
    }
    let found = clusters.sizes.len();
    Ok((clusters.labels, found))
}

struct Clusters {
    labels: Vec<u16>,
    sizes: Vec<u32>,
    limit: u32,
    /// Cluster for nodes that no cluster attracts.
    filling: usize,
    counts: LabelCounts,
}

impl Clusters {
    /// Moves a node to the best cluster, once its neighbours have been counted. Afterwards at most `allowed` clusters
    /// may exist; with `must` the node gets a cluster in any case.
    fn place(&mut self, node: usize, allowed: usize, must: bool) {
        let own = self.labels[node];
        let has_room = |label: u16| label == own || self.sizes[usize::from(label)] < self.limit;
        let best = self.counts.best(has_room);
        let better =
            best.filter(|&best| own == NONE || self.counts.get(best) > self.counts.get(own));
        self.counts.clear();
        let label = match better {
            Some(label) => label,
            None if own != NONE => return,
            None if self.sizes.len() < allowed => {
                self.sizes.push(0);
                (self.sizes.len() - 1) as u16
            }
            None if must => self.fill(),
            None => return,
        };
        if own != NONE {
            self.sizes[usize::from(own)] -= 1;
        }
        self.sizes[usize::from(label)] += 1;
        self.labels[node] = label;
    }

    /// A cluster with room, which stays the same until it is full.
    fn fill(&mut self) -> u16 {
        while self.sizes[self.filling] >= self.limit {
            // There is room for three times the nodes.
            self.filling = (self.filling + 1) % self.sizes.len();
        }
        self.filling as u16
    }
}
