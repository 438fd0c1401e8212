//! Questions about pairs of nodes.

use super::own_nodes::ChosenNodes;
use crate::load::EdgeUse;

/// A question about pairs of nodes.
pub enum LinkQuestion {
    /// The scores of pairs, which are rows of the prediction.
    Pairs(Vec<[u64; 2]>),
    /// The best partners of nodes that are not their neighbours yet.
    Partners {
        /// Number of partners of each node.
        count: usize,
        /// The nodes; `None` means all.
        nodes: Option<ChosenNodes>,
    },
    /// The filtered ranks of edges.
    Ranks {
        /// The use of the edges in training.
        wanted: EdgeUse,
        /// The name of their set.
        name: &'static str,
    },
}
