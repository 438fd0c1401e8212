//! A training from epoch to epoch.

use std::collections::BTreeMap;

use super::checkpoint::{Checkpoint, Progress};
use super::early_stopping::EarlyStopping;
use super::sampled::SampledTrainer;
use super::trainer::{Mark, Trainer};
use crate::error::{Error, Result};
use crate::event::{EpochReport, Evaluation};
use crate::nn::{
    LearningRate, Optimizer, OptimizerConfig, OptimizerState, Schedule, clip_grad_norm,
};
use crate::spill::PointerTensor;
use crate::tensor;

/// How a model is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regime {
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// How its learning rate changes.
    pub schedule: Schedule,
    /// The largest norm of a gradient, if there is one.
    pub clip_norm: Option<f64>,
    /// Epochs without a better validation score after which training stops, if it does.
    pub patience: Option<u32>,
}

impl Regime {
    /// Whether its constants make sense, and there is something to judge epochs by if they have to be.
    pub(super) fn check(&self, has_validation: bool, flag: &str) -> Result<()> {
        if self.clip_norm.is_some_and(|norm| norm.is_nan() || norm <= 0.0) {
            return Err(Error::config("--clip-norm", "must be above 0"));
        }
        if self.patience == Some(0) {
            return Err(Error::config("--patience", "must be 1 or more"));
        }
        if needs_validation(self) && !has_validation {
            let judge = if self.patience.is_some() { "--patience" } else { "--schedule" };
            return Err(Error::config(judge, "there is nothing for validation to judge epochs by")
                .with_hint(format!("say what is with {flag}")));
        }
        Ok(())
    }
}

/// One rank's part of a training, between two epochs.
pub struct Training<'a> {
    pub(super) trainer: &'a Trainer<'a>,
    samples: Option<SampledTrainer<'a>>,
    pub(super) regime: Regime,
    pub(super) optimizer: Optimizer,
    learning_rate: LearningRate,
    early_stopping: Option<EarlyStopping>,
    pub(super) epoch: u32,
    /// Bytes of features that this rank's batches needed in the last epoch on samples.
    pub(super) row_bytes_needed: u64,
    mark: Mark,
}

impl<'a> Training<'a> {
    /// Before the first epoch; with `samples`, epochs are passes over sampled neighbourhoods.
    ///
    /// # Errors
    /// If a constant of the regime makes no sense, or it needs validation nodes and there are none.
    pub fn new(
        trainer: &'a Trainer<'a>,
        samples: Option<SampledTrainer<'a>>,
        regime: Regime,
    ) -> Result<Self> {
        regime.check(trainer.totals.val > 0, "--val-mask-key KEY")?;
        Ok(Training {
            trainer,
            samples,
            regime,
            optimizer: Optimizer::new(regime.optimizer, trainer.manager)?,
            learning_rate: LearningRate::new(regime.optimizer.lr(), regime.schedule)?,
            early_stopping: regime.patience.map(EarlyStopping::new),
            epoch: 0,
            row_bytes_needed: 0,
            mark: trainer.mark(),
        })
    }

    /// Takes over the state of a checkpoint, parameters included.
    ///
    /// # Errors
    /// If it is not one of this model.
    pub fn set_state(&mut self, checkpoint: Checkpoint) -> Result<()> {
        let Checkpoint { progress, tensors, .. } = checkpoint;
        let parameters = self.trainer.parameters;
        let size = parameters.flat().size().to_vec();
        let mut tensors = tensors;
        let mut take = |name: &str| match tensors.remove(name) {
            Some(value) if value.size() != size => {
                let problem = format!("{name} is of another size than the model's parameters");
                Err(Error::config("--resume", problem)
                    .with_hint("the graph or its features have changed; train anew"))
            }
            value => Ok(value),
        };
        let manager = self.trainer.manager;
        let track = |label: &str, value| -> PointerTensor { manager.track(label, value) };
        let missing = || Error::config("--resume", "the checkpoint has no parameters");
        parameters.set_flat(take("parameters")?.ok_or_else(missing)?)?;
        self.optimizer.set_state(OptimizerState {
            step: progress.optimizer_steps,
            first: take("optimizer.first")?.map(|value| track("first-moment", value)),
            second: take("optimizer.second")?.map(|value| track("second-moment", value)),
        });
        let best = progress.best.zip(take("best.parameters")?);
        if let (Some(early_stopping), Some((best, weights))) = (&mut self.early_stopping, best) {
            early_stopping.set_best(best, track("best-weights", weights));
        }
        self.learning_rate = progress.learning_rate;
        self.epoch = progress.epoch;
        Ok(())
    }

    /// Complete epochs.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Why training stops here, if it does before the last epoch.
    pub fn stop(&self) -> Option<String> {
        let early_stopping = self.early_stopping.as_ref()?;
        early_stopping.is_over(self.epoch).then(|| {
            let name = self.trainer.loss.task().metric().name();
            let since = early_stopping.best().map_or(0, |(best, _)| best.epoch);
            format!(
                "stopped after epoch {}: the validation {name} is best after epoch {since}, whose \
                 weights are kept",
                self.epoch
            )
        })
    }

    /// One epoch: a step, the optimizer's update, and an evaluation if something depends on one.
    pub fn next_epoch(&mut self) -> Result<EpochReport> {
        if let Some(samples) = self.samples {
            return self.next_sampled_epoch(&samples);
        }
        let Training { trainer, regime, mark: begin, .. } = *self;
        self.epoch += 1;
        let step = trainer.step(self.epoch, &begin, &mut |_| Ok(()))?;
        let gradient = match regime.clip_norm {
            Some(norm) => clip_grad_norm(&step.gradient, norm)?,
            None => step.gradient,
        };
        let lr = self.set_learning_rate();
        self.optimizer.step(trainer.parameters, gradient)?;
        let validation = if needs_validation(&regime) { trainer.validate()?.val } else { None };
        self.judge(validation)?;
        self.mark = trainer.mark().counted(step.io_counted);
        Ok(EpochReport {
            epoch: self.epoch,
            loss: step.loss,
            scores: step.scores,
            lr,
            validation,
            epoch_s: self.mark.seconds_since(&begin),
            lock_turns: self.mark.turns_since(&begin),
            bytes_written: step.io.written,
            bytes_read: step.io.read,
            samples: None,
        })
    }

    /// Sets the learning rate of the epoch's updates.
    pub(super) fn set_learning_rate(&mut self) -> f64 {
        let lr = self.learning_rate.current();
        self.optimizer.set_lr(lr);
        lr
    }

    /// After the epoch's updates: what depends on the validation score, if there is one.
    pub(super) fn judge(&mut self, validation: Option<f64>) -> Result<()> {
        let Trainer { loss, parameters, manager, .. } = self.trainer;
        let more_is_better = loss.task().metric().more_is_better();
        let judged = validation.map(|score| (score, more_is_better));
        self.learning_rate.step(self.regime.schedule, judged);
        if let (Some(early_stopping), Some((score, more))) = (&mut self.early_stopping, judged) {
            early_stopping.update((self.epoch, score, more), parameters, manager)?;
        }
        Ok(())
    }

    /// Everything to go on from here. `config` is kept with it.
    pub fn checkpoint(&self, config: String) -> Result<Checkpoint> {
        let state = self.optimizer.state();
        let best = self.early_stopping.as_ref().and_then(EarlyStopping::best);
        let parameters = self.trainer.parameters.flat();
        let all = [
            ("parameters", Some(&parameters)),
            ("optimizer.first", state.first.as_ref()),
            ("optimizer.second", state.second.as_ref()),
            ("best.parameters", best.map(|(_, weights)| weights)),
        ];
        let mut tensors = BTreeMap::new();
        for (name, value) in all {
            if let Some(value) = value {
                tensors.insert(name.to_owned(), tensor::copy(&*value.pin()?)?);
            }
        }
        let progress = Progress {
            epoch: self.epoch,
            optimizer_steps: state.step,
            learning_rate: self.learning_rate,
            best: best.map(|(best, _)| best),
        };
        Ok(Checkpoint { config, progress, tensors })
    }

    /// Ends the training with the best weights, if there was early stopping, or else the last ones; all metrics with them.
    pub fn finish(self) -> Result<Evaluation> {
        let Training { trainer, early_stopping, epoch, .. } = self;
        let best = early_stopping.as_ref().and_then(EarlyStopping::best);
        let epoch = best.map_or(epoch, |(best, _)| best.epoch);
        if let Some(weights) =
            early_stopping.as_ref().map(EarlyStopping::weights).transpose()?.flatten()
        {
            trainer.parameters.set_flat(weights)?;
        }
        drop(early_stopping);
        trainer.evaluate(epoch)
    }
}

/// Whether an evaluation has to follow each epoch.
fn needs_validation(regime: &Regime) -> bool {
    regime.patience.is_some() || regime.schedule.needs_validation()
}
