//! Progress of generating a graph.

/// The step that is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Edges are drawn and sorted by partition.
    Edges,
    /// The structure of each partition is written.
    Structure,
    /// Features, labels and masks are written.
    Features,
}

/// Progress of a step; the steps come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step that is being done.
    pub step: Step,
    /// Number of edges, or of nodes in the last step, that are done.
    pub done: u64,
    /// Number of all edges or nodes.
    pub total: u64,
}
