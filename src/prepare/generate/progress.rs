//! GenerateProgress of generating a graph.

/// The step that is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerateStep {
    /// Edges are drawn and sorted by partition.
    Edges,
    /// The structure of each partition is written.
    Structure,
    /// Features, labels and masks are written.
    Features,
}

/// GenerateProgress of a step; the steps come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerateProgress {
    /// The step that is being done.
    pub step: GenerateStep,
    /// Number of edges, or of nodes in the last step, that are done.
    pub done: u64,
    /// Number of all edges or nodes.
    pub total: u64,
}
