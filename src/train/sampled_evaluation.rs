//! Evaluation on sampled neighbourhoods.

use tch::{Kind, Tensor};

use super::graph_batches::LABELS;
use super::sampled::{EvaluationLoaders, SampledTrainer};
use super::trainer::Trainer;
use super::update::TurnHooks;
use crate::engine::comm::{ReduceOp, all_reduce};
use crate::engine::tape::Tape;
use crate::event::Scores;
use crate::nn::ScoreSums;
use crate::sampling::loaders::{DataLoader, MiniBatch};
use crate::words::error::Result;

impl SampledTrainer<'_> {
    /// The task's metric over validation and test nodes, without dropout, on neighbourhoods that are the same each
    /// time; in one turn if batches are sampled on demand. The rank must not have the turn before this call, and does
    /// not have it afterwards. One collective.
    pub(super) fn evaluate(&self, loaders: &EvaluationLoaders) -> Result<Scores> {
        let Trainer { manager, group, loss, outputs, totals, .. } = self.full;
        let in_turn = loaders.val.is_on_demand();
        if in_turn {
            manager.callback_func()?;
        }
        let (val, test) = (self.score_sums(&loaders.val)?, self.score_sums(&loaders.test)?);
        if in_turn {
            manager.precall_func()?;
        }
        let sums = Tensor::f_from_slice(&[val.0, test.0].concat())?;
        let sums = all_reduce(*group, vec![sums], ReduceOp::Sum, &TurnHooks::new(manager, false))?;
        let sums: Vec<f64> = Vec::try_from(&sums[0])?;
        let task = loss.task();
        let score = |first: usize, nodes| {
            ScoreSums([sums[first], sums[first + 1], sums[first + 2]]).score(task, nodes, *outputs)
        };
        Ok(Scores {
            metric: task.metric(),
            train: None,
            val: score(0, totals.val),
            test: score(3, totals.test),
        })
    }

    /// This rank's sums over the loader's nodes, each counted once.
    fn score_sums(&self, loader: &DataLoader) -> Result<ScoreSums> {
        let mut all = ScoreSums::default();
        for batch in loader.each_seed_once() {
            let Some(batch) = batch else { continue };
            let sums = self.score_batch(loader, &batch?)?;
            all.0.iter_mut().zip(sums.0).for_each(|(all, sum)| *all += sum);
        }
        Ok(all)
    }

    fn score_batch(&self, loader: &DataLoader, batch: &MiniBatch) -> Result<ScoreSums> {
        let Trainer { manager, parameters, loss, .. } = self.full;
        let forward = self.model.take_up(manager, parameters, loader.graph(), batch)?;
        let mut tape = Tape::evaluation(manager, parameters);
        let (logits, _) = forward.forward(&mut tape)?;
        let values = logits.pin()?;
        let all = Tensor::f_ones([batch.seeds().len() as i64], (Kind::Bool, values.device()))?;
        ScoreSums::new(loss.task(), &values, batch.output(LABELS)?, &all)
    }
}
