//! Training from epoch to epoch.

use std::path::Path;

use tch::Tensor;

use super::checkpoint::{Checkpoint, KeptState, Progress};
use super::early_stopping::EarlyStopping;
use super::learner::Learner;
use super::link_trainer::{LinkLoaders, LinkTrainer};
use super::regime::Regime;
use super::sampled::SampledTrainer;
use super::trained_set::TrainedSet;
use super::trainer::{Mark, Trainer};
use crate::engine::comm::{Ranks, ReduceOp, all_gather, all_reduce, barrier, spans_machines};
use crate::engine::spill::PointerTensor;
use crate::engine::tensor;
use crate::engine::turns::Work;
use crate::event::{EpochEvaluation, EpochReport, Evaluation, Scores};
use crate::load::GraphFingerprint;
use crate::nn::{LearningRate, Optimizer, ValidationScore, clip_factor};
use crate::words::error::{Error, Result};

/// One rank's part of training, between epochs.
pub struct Training<'a> {
    pub(super) learner: Learner<'a>,
    pub(super) regime: Regime,
    /// One optimizer per entry of [`sets`](Training::sets) that has none of its own; these entries come first.
    pub(super) optimizers: Vec<Optimizer>,
    learning_rate: LearningRate,
    early_stopping: Option<EarlyStopping>,
    pub(super) epoch: u32,
    /// Bytes of features that this rank's batches used in the last epoch on samples.
    pub(super) row_bytes_needed: u64,
    mark: Mark,
    /// Graph that checkpoints name.
    graph: Option<GraphFingerprint>,
    /// Number of outputs by predicted node type, which checkpoints name.
    outputs: Vec<i64>,
    /// The state after the last complete epoch, if it is [kept](Training::keep_state).
    kept: Option<KeptState<'a>>,
}

impl<'a> Training<'a> {
    /// Creates training before its first epoch; with `samples`, epochs are passes over sampled neighbourhoods.
    ///
    /// # Errors
    /// If a constant of the regime is invalid, or validation nodes are needed and there are none.
    pub fn new(
        trainer: &'a Trainer<'a>,
        samples: Option<SampledTrainer<'a>>,
        regime: Regime,
    ) -> Result<Self> {
        regime.check(trainer.totals.val > 0, "nodes", "‹keys.val_mask=KEY›")?;
        Self::of(Learner::Nodes(trainer, samples), regime)
    }

    /// Creates training for link prediction before its first epoch. Epochs are compared by mean reciprocal rank. The
    /// rank must have the turn, which it gives up for passes and evaluations.
    ///
    /// # Errors
    /// If a constant of the regime is invalid, validation edges are needed and there are none, or there are no training
    /// edges.
    pub fn of_links(
        trainer: &'a LinkTrainer<'a>,
        loaders: &'a LinkLoaders,
        regime: Regime,
    ) -> Result<Self> {
        let names = "‹link.split.val=SHARE› or ‹keys.val_mask=KEY›";
        regime.check(!loaders.val.is_empty(), "edges", names)?;
        if loaders.train.is_empty() {
            return Err(Error::config("link", "there are no training edges")
                .with_hint("name them with ‹keys.train_mask=KEY›"));
        }
        Self::of(Learner::Links(trainer, loaders), regime)
    }

    fn of(learner: Learner<'a>, regime: Regime) -> Result<Self> {
        let manager = learner.manager();
        let sets = learner.sets().iter().filter(|set| set.parameters().is_some()).count();
        let optimizers = (0..sets).map(|_| Optimizer::new(regime.optimizer, manager));
        Ok(Training {
            learner,
            regime,
            optimizers: optimizers.collect::<Result<_>>()?,
            learning_rate: LearningRate::new(regime.optimizer.lr(), regime.schedule)?,
            early_stopping: EarlyStopping::of(&regime),
            epoch: 0,
            row_bytes_needed: 0,
            mark: Mark::now(manager),
            graph: None,
            outputs: Vec::new(),
            kept: None,
        })
    }

    /// Sets the number of the model's outputs by predicted node type, which checkpoints name.
    pub fn set_outputs(&mut self, outputs: Vec<i64>) {
        self.outputs = outputs;
    }

    /// Sets the graph that checkpoints name. `graph` need only include the partitions on this machine. One collective
    /// if there are other machines.
    ///
    /// # Errors
    /// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`, `Interrupted`).
    pub fn set_graph(&mut self, graph: &GraphFingerprint) -> Result<()> {
        let Ranks { group, hooks } = self.learner.ranks();
        self.graph = Some(if spans_machines(group) {
            let own = Tensor::f_from_slice(graph.part(group.rank())?.as_bytes())?;
            let texts = all_gather(group, own, hooks)?.into_iter().map(|text| {
                let bytes = Vec::<u8>::try_from(text)?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            });
            graph.with_parts(&texts.collect::<Result<Vec<_>>>()?)?
        } else {
            graph.clone()
        });
        Ok(())
    }

    /// The graph that checkpoints name, with the partitions on all machines.
    pub fn graph(&self) -> Option<&GraphFingerprint> {
        self.graph.as_ref()
    }

    fn sets(&self) -> Vec<TrainedSet<'a>> {
        self.learner.sets()
    }

    /// Restores the state of a checkpoint, including parameters, and [shares](Training::share_rows) learned rows.
    ///
    /// # Errors
    /// If the checkpoint belongs to another model, or as for [`share_rows`](Training::share_rows).
    pub fn set_state(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let (progress, manager) = (checkpoint.progress, self.learner.manager());
        let sets = self.sets();
        let mut optimizers = self.optimizers.iter_mut();
        let mut best = Vec::new();
        let keeps_best = self.early_stopping.as_ref().is_some_and(EarlyStopping::keeps_weights);
        for set in &sets {
            set.set_state(checkpoint, optimizers.next(), manager)?;
            if keeps_best && progress.best.is_some() {
                best.push(set.best(checkpoint, manager)?);
            }
        }
        if let (Some(early_stopping), Some(epoch)) = (&mut self.early_stopping, progress.best) {
            early_stopping.set_best(epoch, best);
        }
        checkpoint.check_all_read()?;
        self.learning_rate = progress.learning_rate;
        self.epoch = progress.epoch;
        self.share_rows()
    }

    /// Makes learned rows on disk that were replaced known to all ranks, which read them. If there are any, one
    /// collective, and one more per set if there are other machines.
    ///
    /// # Errors
    /// If rows cannot be read or written (`Io`, `OutOfDisk`), or a collective fails.
    pub fn share_rows(&self) -> Result<()> {
        let (ranks, sets) = (self.learner.ranks(), self.sets());
        if sets.iter().all(|set| set.parameters().is_some()) {
            return Ok(());
        }
        sets.iter().try_for_each(|set| set.send(ranks))?;
        barrier(ranks.group, ranks.hooks)
    }

    /// Number of complete epochs.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The reason for which training stops now; `None` if it continues.
    pub fn stop(&self) -> Option<String> {
        let early_stopping = self.early_stopping.as_ref()?;
        early_stopping.is_over(self.epoch).then(|| {
            let name = self.learner.metric().name();
            let since = early_stopping.best().map_or(0, |best| best.epoch);
            let kept = if early_stopping.keeps_weights() { ", whose weights are kept" } else { "" };
            format!(
                "stopped after epoch {}: the validation {name} was best after epoch {since}{kept}",
                self.epoch
            )
        })
    }

    /// Runs one epoch: a step (or one per batch), the optimizer's update, and an evaluation if it is due.
    ///
    /// # Errors
    /// If a step or the evaluation fails, or the run is being stopped (`Aborted`, `Interrupted`).
    pub fn next_epoch(&mut self) -> Result<EpochReport> {
        self.learner.manager().lock().number_turns();
        match self.learner {
            Learner::Nodes(trainer, None) => self.next_full_epoch(trainer),
            Learner::Nodes(_, Some(samples)) => self.next_sampled_epoch(&samples),
            Learner::Links(trainer, loaders) => self.next_link_epoch(trainer, loaders),
        }
    }

    fn next_full_epoch(&mut self, trainer: &Trainer<'_>) -> Result<EpochReport> {
        let Training { regime, mark: begin, .. } = *self;
        self.epoch += 1;
        let step = trainer.step(self.epoch, &begin, &mut |_| Ok(()))?;
        let factor = match regime.clip_norm {
            Some(norm) => clip_factor(&step.gradient, step.learned_squares, norm)?,
            None => None,
        };
        let lr = self.set_learning_rate();
        let learned = step.learned.into_iter().map(PointerTensor::take);
        let gradients = std::iter::once(Ok(step.gradient)).chain(learned);
        for ((set, optimizer), gradient) in
            self.sets().iter().zip(&mut self.optimizers).zip(gradients)
        {
            let gradient = gradient?;
            let gradient = match factor {
                Some(factor) => gradient.f_mul_scalar(factor)?,
                None => gradient,
            };
            let parameters = set.parameters().ok_or_else(|| {
                Error::internal(
                    "rows on disk are trained on sampled neighbourhoods only".to_owned(),
                )
            })?;
            optimizer.step(parameters, gradient)?;
        }
        let end = trainer.mark().counted(&step.counted);
        self.mark = end;
        let evaluation = if regime.evaluates(self.epoch) {
            let scores = trainer.validate()?;
            self.mark = trainer.mark();
            Some(EpochEvaluation { scores, seconds: self.mark.seconds_since(&end) })
        } else {
            None
        };
        self.judge(evaluation.map(|evaluation| evaluation.scores))?;
        Ok(EpochReport {
            epoch: self.epoch,
            loss: step.loss,
            scores: step.scores,
            lr,
            evaluation,
            epoch_s: end.seconds_since(&begin),
            processor: step.processor,
            lock_turns: end.turns_since(&begin),
            io: step.io,
            samples: None,
        })
    }

    /// Sets the learning rate of the epoch's updates.
    pub(super) fn set_learning_rate(&mut self) -> f64 {
        let lr = self.learning_rate.current();
        self.optimizers.iter_mut().for_each(|optimizer| optimizer.set_lr(lr));
        lr
    }

    /// Uses the epoch's evaluation, if there is one.
    pub(super) fn judge(&mut self, evaluated: Option<Scores>) -> Result<()> {
        let manager = self.learner.manager();
        let sets = self.sets();
        let more_is_better = self.learner.metric().more_is_better();
        let value = evaluated.and_then(|scores| scores.val);
        let judged = value.map(|value| ValidationScore { value, more_is_better });
        self.learning_rate.step(self.regime.schedule, judged);
        if let (Some(early_stopping), Some(judged)) = (&mut self.early_stopping, judged) {
            early_stopping.update(self.epoch, judged, &sets, manager)?;
        }
        Ok(())
    }

    /// Waits for all ranks. One collective.
    ///
    /// # Errors
    /// If the run is being stopped (`Aborted`, `Interrupted`).
    pub fn barrier(&self) -> Result<()> {
        barrier(self.learner.group(), &**self.learner.manager())
    }

    /// Whether all trained values are finite, on all ranks; all ranks call this. One collective if there are learned
    /// rows.
    ///
    /// # Errors
    /// If a value cannot be read back (`Io`, `Corrupt`), or the collective fails.
    pub fn is_finite(&self) -> Result<bool> {
        let mut finite = true;
        for set in self.sets() {
            finite &= set.is_finite()?;
        }
        self.all_finite(finite)
    }

    /// Whether the weights of all ranks are finite, given whether this rank's are.
    fn all_finite(&self, finite: bool) -> Result<bool> {
        if !self.has_learned_rows() {
            // Parameters are equal on all ranks.
            return Ok(finite);
        }
        let (group, manager) = (self.learner.group(), self.learner.manager());
        let bad = Tensor::f_from_slice(&[i64::from(!finite)])?;
        let sums = all_reduce(group, vec![bad], ReduceOp::Sum, &**manager)?;
        Ok(sums[0].f_int64_value(&[0])? == 0)
    }

    /// Whether the weights that [`finish`](Training::finish) returns are finite; see
    /// [`is_finite`](Training::is_finite).
    ///
    /// # Errors
    /// As for [`is_finite`](Training::is_finite).
    pub fn ends_finite(&self) -> Result<bool> {
        match self.early_stopping.as_ref().and_then(EarlyStopping::weights) {
            Some((_, best)) => {
                let mut finite = true;
                for values in best {
                    finite &= tensor::first_not_finite(&*values.pin()?).is_none();
                }
                self.all_finite(finite)
            }
            None => self.is_finite(),
        }
    }

    /// Whether there are learned rows, of which each rank has a part.
    pub fn has_learned_rows(&self) -> bool {
        self.sets().len() > 1
    }

    /// Writes everything that is needed to continue from here, with `config`. With learned rows, all ranks call this
    /// (one collective).
    ///
    /// # Errors
    /// As for [`KeptState::write`].
    pub fn write_checkpoint(&mut self, path: &Path, config: String) -> Result<()> {
        self.state().write(path, config)?;
        // So that the next epoch's turns are counted as without a checkpoint.
        self.mark = self.mark.turned(Mark::now(self.learner.manager()));
        Ok(())
    }

    /// The state after the last epoch.
    fn state(&self) -> KeptState<'a> {
        let early_stopping = self.early_stopping.as_ref();
        let weights = early_stopping.and_then(EarlyStopping::weights);
        let mut arrays = Vec::new();
        for (i, set) in self.sets().into_iter().enumerate() {
            let best = weights.map(|(_, weights)| weights[i].clone());
            arrays.extend(set.arrays(self.optimizers.get(i), best));
        }
        let progress = Progress {
            epoch: self.epoch,
            optimizer_steps: self.optimizers[0].state().step,
            learning_rate: self.learning_rate,
            best: early_stopping.and_then(EarlyStopping::best),
        };
        let (graph, outputs) = (self.graph.clone(), self.outputs.clone());
        KeptState { progress, arrays, ranks: self.learner.ranks(), graph, outputs }
    }

    /// Keeps the state after this epoch while the next one changes it; only on rank 0, if it is finite, and not with
    /// learned rows, of which each rank has a part.
    ///
    /// # Errors
    /// If a value cannot be read back (`Io`, `Corrupt`).
    pub fn keep_state(&mut self) -> Result<()> {
        let sets = self.sets();
        if let ([model], 0) = (&sets[..], self.learner.group().rank())
            && model.is_finite()?
        {
            self.kept = Some(self.state());
        }
        Ok(())
    }

    /// The kept state.
    pub fn kept(&self) -> Option<&KeptState<'a>> {
        self.kept.as_ref()
    }

    /// Takes the kept state out.
    pub fn take_kept(&mut self) -> Option<KeptState<'a>> {
        self.kept.take()
    }

    /// Ends training with the best weights if the regime keeps them, otherwise with the last ones; returns all metrics.
    ///
    /// # Errors
    /// If the evaluation fails.
    pub fn finish(self) -> Result<Evaluation> {
        let mut epoch = self.epoch;
        let best = self.early_stopping.as_ref().and_then(EarlyStopping::weights);
        if let Some((best, weights)) = best {
            for (set, weights) in self.sets().iter().zip(weights) {
                set.set(tensor::copy(&*weights.pin()?)?)?;
            }
            self.share_rows()?;
            epoch = best.epoch;
        }
        let learner = self.learner;
        drop(self);
        if let Learner::Nodes(trainer, Some(_)) = learner
            && trainer.manager.begin_work(Work::Evaluation)?
        {
            barrier(trainer.group, &**trainer.manager)?;
        }
        learner.evaluate(epoch)
    }
}
