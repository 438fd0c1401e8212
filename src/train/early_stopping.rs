//! Early stopping, and the weights of the best epoch.

use super::checkpoint::BestEpoch;
use super::regime::Regime;
use super::trained_set::TrainedSet;
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::nn::ValidationScore;
use crate::words::error::Result;

/// The best epoch so far, with its weights if training ends with them. Training stops when the validation score has not
/// improved for `patience` epochs.
pub(super) struct EarlyStopping {
    patience: Option<u32>,
    keeps_weights: bool,
    best: Option<BestEpoch>,
    weights: Vec<PointerTensor>,
}

impl EarlyStopping {
    /// Settings of a regime; `None` if it neither stops early nor keeps the best weights.
    pub(super) fn of(regime: &Regime) -> Option<Self> {
        let keeps_weights = regime.keeps_best();
        (regime.patience.is_some() || keeps_weights).then_some(EarlyStopping {
            patience: regime.patience,
            keeps_weights,
            best: None,
            weights: Vec::new(),
        })
    }

    /// Whether the weights of the best epoch are kept.
    pub(super) fn keeps_weights(&self) -> bool {
        self.keeps_weights
    }

    /// Continues from a checkpoint; `weights` is empty unless weights are kept.
    pub(super) fn set_best(&mut self, best: BestEpoch, weights: Vec<PointerTensor>) {
        self.best = Some(best);
        self.weights = weights;
    }

    pub(super) fn best(&self) -> Option<BestEpoch> {
        self.best
    }

    /// The best epoch and its weights, one tensor per trained set.
    pub(super) fn weights(&self) -> Option<(BestEpoch, &[PointerTensor])> {
        self.best.filter(|_| self.keeps_weights).map(|best| (best, &self.weights[..]))
    }

    /// Records an epoch's score; keeps the weights if it is the best so far.
    pub(super) fn update(
        &mut self,
        epoch: u32,
        validation: ValidationScore,
        sets: &[TrainedSet<'_>],
        manager: &PartitionDataManager,
    ) -> Result<()> {
        if validation.beats(self.best.map(|best| best.score), 0.0) {
            self.best = Some(BestEpoch { epoch, score: validation.value });
            let copy = |set: &TrainedSet<'_>| Ok(manager.track("best-weights", set.copy()?));
            let kept = sets.iter().filter(|_| self.keeps_weights);
            self.weights = kept.map(copy).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Whether it is time to stop after `epoch` epochs.
    pub(super) fn is_over(&self, epoch: u32) -> bool {
        let best = self.best.map_or(0, |best| best.epoch);
        self.patience.is_some_and(|patience| epoch - best >= patience)
    }
}
