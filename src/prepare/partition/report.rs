//! How good partitions are.

use crate::formats::dgl::writer::Halo;
use crate::graph::PartitionBook;

/// What one partition has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionSize {
    /// Nodes that it owns.
    pub nodes: u64,
    /// Edges that it owns: those into its nodes.
    pub edges: u64,
    /// Training nodes that it owns.
    pub train_nodes: u64,
    /// Foreign nodes that its edges come from.
    pub halo_nodes: u64,
    /// Edges from foreign nodes.
    pub cut_edges: u64,
}

/// How good partitions are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionReport {
    /// By partition.
    pub sizes: Vec<PartitionSize>,
    /// Values of a node's features; what training keeps of a node also depends on them.
    pub feature_values: u64,
}

impl PartitionReport {
    pub(super) fn new(
        book: &PartitionBook,
        halos: &[Halo],
        train_nodes: &[u64],
        feature_values: u64,
    ) -> Self {
        let size = |(part, (halo, &train_nodes)): (usize, (&Halo, &u64))| {
            let (nodes, edges) = (book.node_range(part), book.edge_range(part));
            PartitionSize {
                nodes: nodes.end - nodes.start,
                edges: edges.end - edges.start,
                train_nodes,
                halo_nodes: halo.sources,
                cut_edges: halo.cut_edges,
            }
        };
        let sizes = halos.iter().zip(train_nodes).enumerate().map(size).collect();
        PartitionReport { sizes, feature_values }
    }

    /// Edges whose ends are in different partitions.
    pub fn cut_edges(&self) -> u64 {
        self.sum(|size| size.cut_edges)
    }

    /// How many nodes partitions hold per node of the graph, foreign ones counted.
    pub fn replication(&self) -> f64 {
        let nodes = self.sum(|size| size.nodes);
        (nodes + self.sum(|size| size.halo_nodes)) as f64 / nodes as f64
    }

    /// How many times the mean the largest partition has, of something; 1 if there is nothing.
    pub fn balance(&self, of: impl Fn(&PartitionSize) -> u64 + Copy) -> f64 {
        let (sum, largest) = (self.sum(of), self.sizes.iter().map(of).max().unwrap_or(0));
        if sum == 0 { 1.0 } else { (largest * self.sizes.len() as u64) as f64 / sum as f64 }
    }

    /// The sum over all partitions.
    pub fn sum(&self, of: impl Fn(&PartitionSize) -> u64) -> u64 {
        self.sizes.iter().map(of).sum()
    }

    /// The partition that takes the most memory in training, and about how many bytes a run with such hidden layers takes
    /// while it is resident.
    pub fn training_memory(&self, hidden: u64) -> (usize, u64) {
        let bytes = |size: &PartitionSize| {
            // Both directions of each shard: an index per edge, and the bounds of rows.
            let structure = 8 * size.edges + 24 * (size.nodes + size.halo_nodes);
            let features = 4 * self.feature_values * size.nodes;
            let activations = 4 * hidden * ACTIVATIONS * size.nodes;
            structure + features + activations
        };
        let all = self.sizes.iter().map(bytes).enumerate();
        let (part, bytes) = all.max_by_key(|(_, bytes)| *bytes).unwrap_or_default();
        (part, bytes + PROCESS)
    }
}

/// Hidden rows per own node at the peak of an epoch: values, gradients, sums, and rows on their way. Measured with
/// GraphSAGE on graphs of `generate`.
const ACTIVATIONS: u64 = 10;

/// What a run takes without any graph.
const PROCESS: u64 = 80 << 20;
