//! How far a graph is.

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Edges are drawn and sorted by partition.
    Edges,
    /// The structure of each partition is written.
    Structure,
    /// Features, labels and masks are written.
    Features,
}

/// How far a step is; the steps come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub step: Step,
    /// Edges, or nodes in the last step, that are done.
    pub done: u64,
    /// All of them.
    pub total: u64,
}
