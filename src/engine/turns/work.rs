//! Kinds of work that all ranks of a run do at the same time.

/// A kind of work of all ranks, with its own memory needs. Ranks begin it together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Work {
    /// Everything up to the first evaluation, and later epochs.
    Training = 0,
    /// An evaluation on sampled neighbourhoods, between epochs on samples.
    SampledEvaluation = 1,
    /// An evaluation on the full graph, between or after epochs on samples.
    Evaluation = 2,
    /// A pass over the full graph that computes inputs for epochs on samples, before the first of them.
    Propagation = 3,
}

impl Work {
    /// All kinds of work, indexed by number.
    pub const ALL: [Work; 4] =
        [Work::Training, Work::SampledEvaluation, Work::Evaluation, Work::Propagation];

    /// Whether the work is on the full graph although epochs are on samples.
    pub(crate) fn is_pass(self) -> bool {
        matches!(self, Work::Evaluation | Work::Propagation)
    }

    /// The kind of work with this number.
    pub(super) fn of(number: u32) -> Self {
        Self::ALL.into_iter().find(|work| *work as u32 == number).unwrap_or(Work::Training)
    }
}
