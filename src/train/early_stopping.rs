//! Early stopping: the weights with the best validation score, and when to stop waiting for better ones.

use super::best_epoch::BestEpoch;
use super::trained_set::TrainedSet;
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::error::Result;
use crate::nn::ValidationScore;

/// Ends training when the validation score has not improved for `patience` epochs.
pub(super) struct EarlyStopping {
    patience: u32,
    best: Option<(BestEpoch, Vec<PointerTensor>)>,
}

impl EarlyStopping {
    pub(super) fn new(patience: u32) -> Self {
        EarlyStopping { patience, best: None }
    }

    /// Continues from a checkpoint.
    pub(super) fn set_best(&mut self, best: BestEpoch, weights: Vec<PointerTensor>) {
        self.best = Some((best, weights));
    }

    /// The best epoch and its weights, for each set that is trained.
    pub(super) fn best(&self) -> Option<(BestEpoch, &[PointerTensor])> {
        self.best.as_ref().map(|(best, weights)| (*best, &weights[..]))
    }

    /// Notes an epoch's score; keeps the weights if they are the best so far.
    pub(super) fn update(
        &mut self,
        epoch: u32,
        validation: ValidationScore,
        sets: &[TrainedSet<'_>],
        manager: &PartitionDataManager,
    ) -> Result<()> {
        let ValidationScore { value: score, more_is_better } = validation;
        let better = match &self.best {
            None => score.is_finite(),
            Some((best, _)) if more_is_better => score > best.score,
            Some((best, _)) => score < best.score,
        };
        if better {
            let copy = |set: &TrainedSet<'_>| Ok(manager.track("best-weights", set.copy()?));
            let weights = sets.iter().map(copy).collect::<Result<_>>()?;
            self.best = Some((BestEpoch { epoch, score }, weights));
        }
        Ok(())
    }

    /// Whether it is time to stop after `epoch` epochs.
    pub(super) fn is_over(&self, epoch: u32) -> bool {
        let best = self.best.as_ref().map_or(0, |(best, _)| best.epoch);
        epoch - best >= self.patience
    }
}
