//! Upper bounds on the growth of a worker in a turn.

use crate::engine::turns::Work;

/// Upper bounds in bytes on the growth of a worker that keeps nothing, used until growth is measured; `None` if no
/// bound is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkerBounds {
    /// During epochs on samples, or a prediction.
    pub training: Option<u64>,
    /// During passes over the full graph before, between and after epochs on samples.
    pub evaluation: Option<u64>,
}

impl WorkerBounds {
    /// The bound for a kind of work.
    pub(super) fn during(self, work: Work) -> Option<u64> {
        match work {
            Work::Training => self.training,
            Work::Evaluation | Work::Propagation => self.evaluation,
            Work::SampledEvaluation => None,
        }
    }
}
