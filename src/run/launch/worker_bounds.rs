//! Upper bounds on the growth of a worker in a turn.

use crate::engine::turns::Work;

/// Upper bounds in bytes on the growth of a worker that keeps nothing, until it has been measured; `None` if no bound is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkerBounds {
    /// In epochs on samples, or in a prediction.
    pub training: Option<u64>,
    /// In evaluations on the full graph after epochs on samples.
    pub evaluation: Option<u64>,
}

impl WorkerBounds {
    /// The bound during a kind of work.
    pub(super) fn during(self, work: Work) -> Option<u64> {
        match work {
            Work::Training => self.training,
            Work::Evaluation => self.evaluation,
            Work::SampledEvaluation => None,
        }
    }
}
