//! An epoch of training on sampled neighbourhoods.

use std::time::Instant;

use super::pass::{BatchPass, row_bytes};
use super::sampled::SampledTrainer;
use super::training::Training;
use super::update::TurnHooks;
use crate::engine::comm::barrier;
use crate::engine::turns::Work;
use crate::event::{EpochEvaluation, EpochReport, Scores};
use crate::words::error::Result;

impl Training<'_> {
    /// One epoch: all ranks give up their turns for a [pass](SampledTrainer::pass) over sampled batches, and take turns
    /// again afterwards. If an evaluation is due, it is on samples or on the full graph.
    ///
    /// The report's seconds, bytes, loss and training score are those of the pass over the batches.
    pub(super) fn next_sampled_epoch(
        &mut self,
        samples: &SampledTrainer<'_>,
    ) -> Result<EpochReport> {
        let trainer = samples.full;
        let turns = trainer.manager.lock().turns();
        self.epoch += 1;
        let lr = self.set_learning_rate();
        let is_new = trainer.manager.begin_work(Work::Training)?;
        trainer.manager.precall_func()?;
        if is_new {
            barrier(trainer.group, &TurnHooks::new(trainer.manager, false))?;
        }
        let begin = Instant::now();
        let sampler = samples.loader.sampler();
        let used = || row_bytes(samples.loader, samples.model).needed;
        let before = used();
        // Rows that are used only a few times are not worth keeping. They cannot be given up during the epoch.
        let spare = (trainer.manager.spare_share() / 2).min(self.row_bytes_needed / 4);
        let room = trainer.manager.claim_spare(spare);
        let clip_norm = self.regime.clip_norm;
        let pass = samples.pass(self.epoch, &mut self.optimizers[0], clip_norm, room)?;
        self.row_bytes_needed = used() - before;
        sampler.forget_rows();
        let epoch_s = begin.elapsed().as_secs_f64();
        let lock_turns = trainer.manager.lock().turns() - turns;
        let begin = Instant::now();
        let evaluates = self.regime.evaluates(self.epoch);
        let sampled = samples.evaluation.filter(|_| evaluates);
        let evaluation = if sampled.is_some() { Work::SampledEvaluation } else { Work::Evaluation };
        if evaluates && trainer.manager.begin_work(evaluation)? {
            barrier(trainer.group, &TurnHooks::new(trainer.manager, false))?;
        }
        let sampled = sampled.map(|loaders| samples.evaluate(loaders)).transpose()?;
        trainer.manager.callback_func()?;
        let scores = match sampled {
            None if evaluates => Some(trainer.validate()?),
            scores => scores,
        };
        self.report_pass(pass, lr, epoch_s, lock_turns, scores, begin)
    }

    /// The report of an epoch on batches, whose evaluation began at `begin`, if there was one; uses the evaluation.
    pub(super) fn report_pass(
        &mut self,
        pass: BatchPass,
        lr: f64,
        epoch_s: f64,
        lock_turns: u64,
        evaluated: Option<Scores>,
        begin: Instant,
    ) -> Result<EpochReport> {
        self.judge(evaluated)?;
        let seconds = begin.elapsed().as_secs_f64();
        let metric = self.learner.metric();
        Ok(EpochReport {
            epoch: self.epoch,
            loss: pass.loss.unwrap_or(f64::NAN),
            scores: Scores { metric, train: pass.score, val: None, test: None },
            lr,
            evaluation: evaluated.map(|scores| EpochEvaluation { scores, seconds }),
            epoch_s,
            processor: pass.processor,
            lock_turns,
            io: pass.io,
            samples: Some(pass.samples),
        })
    }
}
