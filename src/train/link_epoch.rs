//! An epoch of training for link prediction.

use std::time::Instant;

use super::link_evaluation::LinkEvaluation;
use super::link_trainer::{LinkLoaders, LinkTrainer};
use super::training::Training;
use crate::event::{EpochReport, Evaluation, Metric, Scores};
use crate::words::error::Result;

impl Training<'_> {
    /// One epoch: all ranks give up their turns for a pass over the training edges, and for a prediction of the validation
    /// edges if an evaluation is due, and take turns again afterwards.
    pub(super) fn next_link_epoch(
        &mut self,
        trainer: &LinkTrainer<'_>,
        loaders: &LinkLoaders,
    ) -> Result<EpochReport> {
        let turns = trainer.manager.lock().turns();
        self.epoch += 1;
        let lr = self.set_learning_rate();
        trainer.manager.precall_func()?;
        let begin = Instant::now();
        let clip_norm = self.regime.clip_norm;
        let pass = trainer.pass(&loaders.train, self.epoch, &mut self.optimizers[0], clip_norm)?;
        let epoch_s = begin.elapsed().as_secs_f64();
        let lock_turns = trainer.manager.lock().turns() - turns;
        let begin = Instant::now();
        let scores = if self.regime.evaluates(self.epoch) {
            let val = trainer.evaluate(&loaders.val)?.mean_reciprocal_rank;
            Some(Scores { metric: Metric::MeanReciprocalRank, train: None, val, test: None })
        } else {
            None
        };
        trainer.manager.callback_func()?;
        self.report_pass(pass, lr, epoch_s, lock_turns, scores, begin)
    }
}

impl LinkTrainer<'_> {
    /// All metrics of validation and test edges; the loss is that of the test edges. `epoch` is the epoch that produced
    /// the weights. The rank has the turn before and after this call.
    pub(super) fn evaluate_all(&self, loaders: &LinkLoaders, epoch: u32) -> Result<Evaluation> {
        let begin = Instant::now();
        self.manager.precall_func()?;
        let (val, test) = (self.evaluate(&loaders.val)?, self.evaluate(&loaders.test)?);
        self.manager.callback_func()?;
        let scores = |metric, of: fn(&LinkEvaluation) -> Option<f64>| Scores {
            metric,
            train: None,
            val: of(&val),
            test: of(&test),
        };
        let scores = vec![
            scores(Metric::MeanReciprocalRank, |e| e.mean_reciprocal_rank),
            scores(Metric::RocAuc, |e| e.auc),
        ];
        let loss = test.loss.or(val.loss).unwrap_or(f64::NAN);
        let seconds = begin.elapsed().as_secs_f64();
        Ok(Evaluation { epoch, loss, scores, confusion: None, seconds })
    }
}
