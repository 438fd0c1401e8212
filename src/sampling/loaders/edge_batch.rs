//! The input of a step of link prediction.

use super::mini_batch::MiniBatch;

/// Pairs of nodes, as rows of the last block's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Row of each source.
    pub sources: Vec<i64>,
    /// Row of each destination.
    pub destinations: Vec<i64>,
}

/// A batch of edges with negative pairs, and the sampled neighbourhood of all their ends.
pub struct EdgeMiniBatch {
    /// Global ids of the edges.
    pub edges: Vec<u64>,
    /// The ends of the edges: DGL's `pair_graph`.
    pub positive: Pairs,
    /// Negative pairs, which are not edges of the batch: DGL's `neg_graph`; empty without a negative sampler.
    pub negative: Pairs,
    /// The blocks; their seeds are the ends of all pairs, each once.
    pub neighbourhood: MiniBatch,
}
