//! A training that predicts edges, from epoch to epoch.

use std::time::Instant;

use super::early_stopping::EarlyStopping;
use super::link_trainer::{LinkEvaluation, LinkTrainer};
use super::trained_set::TrainedSet;
use super::training::Regime;
use crate::error::{Error, Result};
use crate::event::{EpochReport, Evaluation, Metric, Scores};
use crate::loader::DistEdgeDataLoader;
use crate::nn::{LearningRate, Optimizer};
use crate::tensor;

/// The loaders of a rank's edges.
pub struct LinkLoaders {
    /// Trained on.
    pub train: DistEdgeDataLoader,
    /// Predicted after each epoch.
    pub val: DistEdgeDataLoader,
    /// Predicted at the end.
    pub test: DistEdgeDataLoader,
}

/// One rank's part of a training that predicts edges, between two epochs. The metric that epochs are judged by is the mean reciprocal
/// rank.
pub struct LinkTraining<'a> {
    trainer: &'a LinkTrainer<'a>,
    loaders: &'a LinkLoaders,
    regime: Regime,
    optimizer: Optimizer,
    learning_rate: LearningRate,
    early_stopping: Option<EarlyStopping>,
    epoch: u32,
}

impl<'a> LinkTraining<'a> {
    /// Before the first epoch.
    ///
    /// # Errors
    /// If a constant of the regime makes no sense, or it needs validation edges and there are none.
    pub fn new(
        trainer: &'a LinkTrainer<'a>,
        loaders: &'a LinkLoaders,
        regime: Regime,
    ) -> Result<Self> {
        let flag = "--val-fraction SHARE or --val-mask-key KEY";
        regime.check(!loaders.val.is_empty(), ("edges", flag))?;
        if loaders.train.is_empty() {
            return Err(Error::config("--task link", "no edge is trained on")
                .with_hint("say which are with --train-mask-key KEY"));
        }
        Ok(LinkTraining {
            trainer,
            loaders,
            regime,
            optimizer: Optimizer::new(regime.optimizer, trainer.manager)?,
            learning_rate: LearningRate::new(regime.optimizer.lr(), regime.schedule)?,
            early_stopping: regime.patience.map(EarlyStopping::new),
            epoch: 0,
        })
    }

    /// Complete epochs.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether training stops here, before the last epoch.
    pub fn is_over(&self) -> bool {
        self.early_stopping.as_ref().is_some_and(|stopping| stopping.is_over(self.epoch))
    }

    /// One epoch: a pass over the training edges, and the prediction of the validation edges. Ranks work side by side.
    pub fn next_epoch(&mut self) -> Result<EpochReport> {
        let LinkTraining { trainer, loaders, regime, .. } = *self;
        self.epoch += 1;
        let lr = self.learning_rate.current();
        self.optimizer.set_lr(lr);
        let begin = Instant::now();
        let pass =
            trainer.pass(&loaders.train, self.epoch, &mut self.optimizer, regime.clip_norm)?;
        let epoch_s = begin.elapsed().as_secs_f64();
        let validation = trainer.evaluate(&loaders.val)?.mean_reciprocal_rank;
        let judged = validation.map(|score| (score, true));
        self.learning_rate.step(regime.schedule, judged);
        if let (Some(early_stopping), Some(score)) = (&mut self.early_stopping, validation) {
            let epoch = (self.epoch, score, true);
            early_stopping.update(
                epoch,
                &[TrainedSet::model(trainer.parameters)],
                trainer.manager,
            )?;
        }
        let metric = Metric::MeanReciprocalRank;
        Ok(EpochReport {
            epoch: self.epoch,
            loss: pass.loss,
            scores: Scores { metric, train: None, val: validation, test: None },
            lr,
            validation,
            epoch_s,
            lock_turns: 0,
            bytes_written: pass.io.written,
            bytes_read: pass.io.read,
            samples: Some(pass.samples),
        })
    }

    /// Ends the training with the best weights, if there was early stopping, or else the last ones; all metrics with them. The
    /// loss is that of the test edges.
    pub fn finish(self) -> Result<Evaluation> {
        let LinkTraining { trainer, loaders, early_stopping, epoch, .. } = self;
        let best = early_stopping.as_ref().and_then(EarlyStopping::best);
        let epoch = best.map_or(epoch, |(best, _)| best.epoch);
        if let Some((_, [weights])) = best {
            trainer.parameters.set_flat(tensor::copy(&*weights.pin()?)?)?;
        }
        let (val, test) = (trainer.evaluate(&loaders.val)?, trainer.evaluate(&loaders.test)?);
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
        Ok(Evaluation { epoch, loss, scores, confusion: None })
    }
}
