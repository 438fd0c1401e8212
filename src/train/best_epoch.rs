//! The epoch with the best validation score.

use serde::{Deserialize, Serialize};

/// The best epoch so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BestEpoch {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// Validation score of the epoch.
    pub score: f64,
}
