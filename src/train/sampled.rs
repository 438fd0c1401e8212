//! One rank's pass over sampled neighbourhoods.

use tch::{Kind, Tensor};

use super::batch_model::BatchModel;
use super::graph_batches::LABELS;
use super::pass::{BatchPass, BatchTrainer};
use super::step_log::StepLog;
use super::trainer::Trainer;
use super::update::{GradientReduce, nonzero};
use crate::event::Scores;
use crate::nn::{Optimizer, ScoreSums};
use crate::sampling::loaders::{DataLoader, MiniBatch};
use crate::words::error::Result;

/// Trains a [`Trainer`]'s model on batches with [`FEATURES`](super::FEATURES) and [`LABELS`].
#[derive(Clone, Copy)]
pub struct SampledTrainer<'a> {
    /// The task and the model's parameters; its data are not used.
    pub full: &'a Trainer<'a>,
    /// The model.
    pub model: &'a dyn BatchModel,
    /// Loader of the batches.
    pub loader: &'a DataLoader,
    /// How gradients of the ranks are combined.
    pub reduce: GradientReduce,
    /// Loaders for evaluations between epochs; `None` evaluates on the full graph.
    pub evaluation: Option<&'a EvaluationLoaders>,
    /// Receiver of reports on steps, if there is one.
    pub log: Option<StepLog<'a>>,
}

/// Loaders of the nodes that are evaluated between epochs.
pub struct EvaluationLoaders {
    /// Loader of the validation nodes.
    pub val: DataLoader,
    /// Loader of the test nodes.
    pub test: DataLoader,
}

/// Numbers that ranks sum in each step: the gradient's weight, weighted loss, batches, the sums of the score, seeds.
type Counts = [f64; 7];

impl SampledTrainer<'_> {
    /// One pass (epochs count from 1). Each batch has a forward and a backward pass, one collective, and the
    /// optimizer's update, which is the same on every rank; with learned rows, also a collective per node type (two
    /// on several machines), and the update of the batches' rows. Up to `room` bytes of rows of the most frequent nodes
    /// are kept. The rank must not have the turn before this call, and does not have it afterwards. If the loader samples
    /// on demand, the rank takes a turn per batch, and others for updates of learned rows and of large parameters;
    /// otherwise ranks work in parallel. (Batches requested from other ranks, through a
    /// [`CollectiveGraph`](crate::sampling::stores::CollectiveGraph), then need the manager as that graph's hooks: a
    /// rank that waited for answers without giving up its turn would wait for ever.)
    ///
    /// # Errors
    /// If a batch cannot be read, or an operation or a collective fails.
    pub fn pass(
        &self,
        epoch: u32,
        optimizer: &mut Optimizer,
        clip_norm: Option<f64>,
        room: u64,
    ) -> Result<BatchPass> {
        let (task, outputs) = (self.full.loss.task(), self.full.outputs);
        let scores = |[_, _, _, a, b, c, seeds]: Counts| {
            let train = ScoreSums([a, b, c]).score(task, seeds as i64, outputs);
            Scores { metric: task.metric(), train, val: None, test: None }
        };
        let trainer = self.in_epoch(epoch);
        let step = |batch: &MiniBatch, number| self.step(&trainer, batch, number);
        trainer.pass(self.loader, room, optimizer, clip_norm, step, scores)
    }

    fn in_epoch(&self, epoch: u32) -> BatchTrainer<'_> {
        let Trainer { manager, group, parameters, seed, policy, .. } = *self.full;
        let SampledTrainer { model, reduce, log, .. } = *self;
        BatchTrainer { manager, group, model, parameters, seed, policy, reduce, log, epoch }
    }

    /// This rank's gradient of the mean loss over the batch, and its counts.
    fn step(
        &self,
        trainer: &BatchTrainer<'_>,
        batch: &MiniBatch,
        step: usize,
    ) -> Result<(Tensor, Counts)> {
        let loss = &self.full.loss;
        let seeds = batch.seeds().len();
        if seeds == 0 {
            return trainer.no_step();
        }
        let graph = self.loader.graph();
        trainer.step(
            graph,
            batch,
            step,
            |tape, forward| forward.forward(tape),
            |values| {
                let labels = batch.output(LABELS)?;
                let all = Tensor::f_ones([seeds as i64], (Kind::Bool, values.device()))?;
                let size = loss.divisor(labels, &all)?;
                let (mean, gradient) = loss.forward(values, labels, &all, nonzero(size))?;
                let ScoreSums([a, b, c]) = ScoreSums::new(loss.task(), values, labels, &all)?;
                let weight = self.reduce.weight(size);
                Ok((gradient, [weight, mean * weight, 1.0, a, b, c, seeds as f64]))
            },
        )
    }
}
