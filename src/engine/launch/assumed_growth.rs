//! Growth of workers before it has been measured.

use crate::engine::turns::Work;

/// Growth of a worker, as a multiple of the largest worker so far, that is assumed of users' programs.
const FACTOR: u64 = 3;

/// Growth of a worker in a turn that no worker has ended yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TurnGrowth {
    /// Nothing is known of it. Waiting workers keep nothing until the first epoch or batch has ended.
    #[default]
    Unknown,
    /// A number of bytes, planned or bounded; 0 if the run certainly fits into its budget.
    Bytes(u64),
    /// Three times the memory of the largest worker so far: for users' programs, which may have no epochs.
    OfLargestWorker,
}

impl TurnGrowth {
    /// The growth in bytes, if the largest worker so far has taken `worker` bytes.
    pub(super) fn bytes(self, worker: u64) -> Option<u64> {
        match self {
            TurnGrowth::Unknown => None,
            TurnGrowth::Bytes(bytes) => Some(bytes),
            TurnGrowth::OfLargestWorker => Some(worker.saturating_mul(FACTOR)),
        }
    }
}

/// Growth that is assumed during each kind of work until it has been measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct AssumedGrowth {
    /// During epochs, or a prediction.
    pub training: TurnGrowth,
    /// During passes over the full graph before, between and after epochs on samples.
    pub pass: TurnGrowth,
}

impl AssumedGrowth {
    /// The growth during a kind of work.
    pub(super) fn during(self, work: Work) -> TurnGrowth {
        match work {
            Work::Training => self.training,
            Work::Evaluation | Work::Propagation => self.pass,
            Work::SampledEvaluation => TurnGrowth::Unknown,
        }
    }
}
