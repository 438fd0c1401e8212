//! Progress of generating a graph.

/// The current step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerateStep {
    /// Edges are drawn and sorted by partition.
    Edges,
    /// The structure of each partition is written.
    Structure,
    /// Features, labels and masks are written.
    Features,
}

/// Progress of a step; steps follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerateProgress {
    /// The current step.
    pub step: GenerateStep,
    /// Number of edges, or of nodes in the last step, that are done.
    pub done: u64,
    /// Number of all edges or nodes.
    pub total: u64,
}
