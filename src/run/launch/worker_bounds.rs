//! Upper bounds on the memory of a worker.

use crate::engine::turns::Work;

/// Upper bounds on the memory of a worker that keeps nothing, in bytes, where they are known.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkerBounds {
    /// In epochs on samples.
    pub batch: Option<u64>,
    /// In evaluations on the full graph after epochs on samples.
    pub evaluation: Option<u64>,
}

impl WorkerBounds {
    /// The bound during a kind of work.
    pub(super) fn during(self, work: Work) -> Option<u64> {
        match work {
            Work::Training => self.batch,
            Work::Evaluation => self.evaluation,
            Work::SampledEvaluation => None,
        }
    }
}
