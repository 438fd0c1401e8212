//! An epoch of training on sampled neighbourhoods.

use std::time::Instant;

use super::sampled::SampledTrainer;
use super::training::Training;
use crate::error::Result;
use crate::event::{EpochReport, Scores};

impl Training<'_> {
    /// One epoch: all ranks leave their turns for a [pass](SampledTrainer::pass) over sampled batches; then they take turns
    /// again for an evaluation on the full graph.
    ///
    /// Seconds and bytes of the report, loss and training score belong to the pass over the batches; validation and test scores
    /// belong to the evaluation.
    pub(super) fn next_sampled_epoch(
        &mut self,
        samples: &SampledTrainer<'_>,
    ) -> Result<EpochReport> {
        let trainer = samples.full;
        let turns = trainer.manager.lock().turns();
        self.epoch += 1;
        let lr = self.set_learning_rate();
        trainer.manager.precall_func()?;
        let begin = Instant::now();
        let sampler = samples.loader.sampler();
        let before = sampler.row_bytes();
        // Rows that are needed less than a few times are not worth keeping.
        let room = trainer.manager.spare_share().min(self.row_bytes_needed / 4);
        let clip_norm = self.regime.clip_norm;
        let pass = samples.pass(self.epoch, &mut self.optimizers[0], clip_norm, room)?;
        self.row_bytes_needed = (sampler.row_bytes() - before).needed;
        sampler.forget_rows();
        let epoch_s = begin.elapsed().as_secs_f64();
        trainer.manager.callback_func()?;
        let scores = trainer.validate()?;
        self.judge(scores.val)?;
        Ok(EpochReport {
            epoch: self.epoch,
            loss: pass.loss.unwrap_or(f64::NAN),
            scores: Scores { train: pass.score, ..scores },
            lr,
            validation: scores.val,
            epoch_s,
            lock_turns: trainer.manager.lock().turns() - turns,
            io: pass.io,
            samples: Some(pass.samples),
        })
    }
}
