//! Arrays of a partitioned graph that a prediction uses.

/// Names of the arrays of nodes and edges.
#[derive(Clone, Debug, Default)]
pub struct KeptArrays {
    /// Features of each node type, if it has any.
    pub features: Vec<Option<String>>,
    /// Labels of each node type, if it has any.
    pub labels: Vec<Option<String>>,
    /// Masks of nodes.
    pub masks: Vec<String>,
    /// Weights and features of edges, by edge type.
    pub edges: Vec<Vec<String>>,
}
