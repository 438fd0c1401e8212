//! Sizes and quality of partitions.

use crate::formats::dgl::writer::Halo;
use crate::graph::PartitionBook;

/// The size of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionSize {
    /// Number of nodes that it owns.
    pub nodes: u64,
    /// Number of edges that it owns: all edges into its nodes.
    pub edges: u64,
    /// Number of training nodes that it owns.
    pub train_nodes: u64,
    /// Number of foreign nodes that are sources of its edges.
    pub halo_nodes: u64,
    /// Number of edges from foreign nodes.
    pub cut_edges: u64,
}

/// Sizes and quality of the partitions of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionReport {
    /// Sizes by partition.
    pub sizes: Vec<PartitionSize>,
    /// Number of values of a node's features, which also determines the memory for training.
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

    /// Number of edges that cross partitions.
    pub fn cut_edges(&self) -> u64 {
        self.sum(|size| size.cut_edges)
    }

    /// Nodes of all partitions, including halo nodes, per node of the graph.
    pub fn replication(&self) -> f64 {
        let nodes = self.sum(|size| size.nodes);
        (nodes + self.sum(|size| size.halo_nodes)) as f64 / nodes as f64
    }

    /// The largest partition in multiples of the mean of a quantity; 1 if the sum is 0.
    pub fn balance(&self, of: impl Fn(&PartitionSize) -> u64 + Copy) -> f64 {
        let (sum, largest) = (self.sum(of), self.sizes.iter().map(of).max().unwrap_or(0));
        if sum == 0 { 1.0 } else { (largest * self.sizes.len() as u64) as f64 / sum as f64 }
    }

    /// The sum of a quantity over all partitions.
    pub fn sum(&self, of: impl Fn(&PartitionSize) -> u64) -> u64 {
        self.sizes.iter().map(of).sum()
    }

    /// The partition that takes the most memory in training, and the approximate number of bytes that a run with hidden
    /// layers of this width takes while the partition is resident.
    pub fn training_memory(&self, hidden: u64) -> (usize, u64) {
        let bytes = |size: &PartitionSize| {
            // Both directions of each shard: an index per edge, and row bounds.
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

/// Hidden rows per own node at an epoch's peak: values, gradients, sums, and rows in transit. Measured with GraphSAGE
/// on graphs of `generate`.
const ACTIVATIONS: u64 = 10;

/// Memory of a run without a graph, in bytes.
const PROCESS: u64 = 80 << 20;
