//! One rank of training for link prediction on sampled neighbourhoods.

use std::rc::Rc;

use tch::Tensor;

use super::batch_model::{BatchForward, BatchModel};
use super::link_evaluation::{LinkEvaluation, LinkScores};
use super::pass::{BatchPass, BatchTrainer};
use super::step_log::StepLog;
use super::update::{GradientReduce, TurnHooks};
use crate::engine::comm::{ProcessGroup, barrier};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::{ParameterSet, Policy, Tape, Var};
use crate::engine::turns::Work;
use crate::event::{Metric, Scores};
use crate::nn::{LinkScore, Optimizer, link_loss};
use crate::sampling::loaders::{DistEdgeDataLoader, EdgeMiniBatch};
use crate::words::error::Result;

/// A model whose output rows are compared in pairs, with its data. The loss is the binary cross entropy of the scores
/// of edges and drawn pairs.
pub struct LinkTrainer<'a> {
    /// This rank's data.
    pub manager: &'a Rc<PartitionDataManager>,
    /// The process group of all ranks.
    pub group: &'a dyn ProcessGroup,
    /// The model that computes the rows.
    pub model: &'a dyn BatchModel,
    /// The score of two rows.
    pub score: &'a LinkScore,
    /// Parameters of model and score.
    pub parameters: &'a Rc<ParameterSet>,
    /// Seed of dropout.
    pub seed: u64,
    /// The policy for values inside segments.
    pub policy: Policy,
    /// How the gradients of the ranks are combined.
    pub reduce: GradientReduce,
    /// Receiver of reports on steps, if there is one.
    pub log: Option<StepLog<'a>>,
}

/// Loaders of a rank's edges.
pub struct LinkLoaders {
    /// Loader of the training edges.
    pub train: DistEdgeDataLoader,
    /// Loader of the validation edges.
    pub val: DistEdgeDataLoader,
    /// Loader of the test edges, predicted at the end.
    pub test: DistEdgeDataLoader,
}

impl LinkTrainer<'_> {
    /// One pass over the loader's edges (epochs count from 1). Each batch has a forward and a backward pass, one
    /// collective, and the optimizer's update, which is the same on every rank. For learned rows and turns see
    /// [`SampledTrainer::pass`](super::SampledTrainer::pass).
    ///
    /// # Errors
    /// If a batch cannot be read, or an operation or a collective fails.
    pub fn pass(
        &self,
        loader: &DistEdgeDataLoader,
        epoch: u32,
        optimizer: &mut Optimizer,
        clip_norm: Option<f64>,
    ) -> Result<BatchPass> {
        if self.manager.begin_work(Work::Training)? {
            barrier(self.group, &TurnHooks::new(self.manager, false))?;
        }
        let metric = Metric::MeanReciprocalRank;
        let scores = |_| Scores { metric, train: None, val: None, test: None };
        let trainer = self.in_epoch(epoch);
        let step = |batch: &EdgeMiniBatch, number| self.step(&trainer, loader, batch, number);
        trainer.pass(loader, 0, optimizer, clip_norm, step, scores)
    }

    fn in_epoch(&self, epoch: u32) -> BatchTrainer<'_> {
        let LinkTrainer { manager, group, model, parameters, seed, policy, reduce, log, .. } =
            *self;
        BatchTrainer { manager, group, model, parameters, seed, policy, reduce, log, epoch }
    }

    /// This rank's part of a step: the gradient's weight, weighted loss, and 1 batch; zeros without edges.
    fn step(
        &self,
        trainer: &BatchTrainer<'_>,
        loader: &DistEdgeDataLoader,
        batch: &EdgeMiniBatch,
        step: usize,
    ) -> Result<(Tensor, [f64; 3])> {
        if batch.edges.is_empty() {
            return trainer.no_step();
        }
        trainer.step(
            loader.graph(),
            &batch.neighbourhood,
            step,
            |tape, forward| self.scores(loader, tape, forward, batch),
            |scores| {
                let (loss, gradient) = link_loss(scores, batch.edges.len() as i64)?;
                let weight = self.reduce.weight(batch.edges.len() as f64);
                Ok((gradient, [weight, weight * loss, 1.0]))
            },
        )
    }

    /// Scores of a batch's pairs, `[pairs, 1]`, edges first, and the learned rows that were used.
    fn scores<'t>(
        &self,
        loader: &DistEdgeDataLoader,
        tape: &mut Tape<'t>,
        forward: &'t dyn BatchForward,
        batch: &EdgeMiniBatch,
    ) -> Result<(Var, Vec<Var>)> {
        let (rows, learned) = forward.forward(tape)?;
        let [edges, others] = [batch.positive.tensors()?, batch.negative.tensors()?];
        let both = |end: usize| Tensor::f_cat(&[&edges[end], &others[end]], 0);
        let etypes = self.etypes(loader, batch)?.map(|etypes| tape.input(&etypes));
        let ends = [&both(0)?, &both(1)?];
        Ok((self.score.forward(tape, &rows, ends, etypes.as_ref())?, learned))
    }

    /// The edge type of each of a batch's pairs, `int64 [pairs, 1]`, where scores depend on it: that of the edge for which it was
    /// drawn.
    fn etypes(
        &self,
        loader: &DistEdgeDataLoader,
        batch: &EdgeMiniBatch,
    ) -> Result<Option<PointerTensor>> {
        if !self.score.tells_etypes_apart() {
            return Ok(None);
        }
        let book = loader.graph().book();
        let of_edges = batch.edges.iter().map(|edge| book.edge_type(*edge).unwrap_or(0) as i64);
        let of_edges = Tensor::f_from_slice(&of_edges.collect::<Vec<_>>())?;
        let each = batch.negative.sources.len() / batch.edges.len().max(1);
        let of_others = of_edges.f_repeat_interleave_self_int(each as i64, 0, None)?;
        let etypes = Tensor::f_cat(&[of_edges, of_others], 0)?.f_unsqueeze(1)?;
        Ok(Some(self.manager.track("etypes", etypes)))
    }

    /// Scores each of the loader's edges once, and the pairs drawn for them, which are the same each time; in one turn
    /// if batches are sampled on demand. Two collectives, and one more after other work. The rank does not have the turn
    /// before and after it.
    ///
    /// # Errors
    /// If a batch cannot be read, or an operation or a collective fails.
    pub fn evaluate(&self, loader: &DistEdgeDataLoader) -> Result<LinkEvaluation> {
        let LinkTrainer { manager, group, parameters, .. } = self;
        let hooks = TurnHooks::new(manager, false);
        if manager.begin_work(Work::SampledEvaluation)? {
            barrier(*group, &hooks)?;
        }
        let mut all = LinkScores::default();
        let in_turn = loader.is_on_demand();
        if in_turn {
            manager.callback_func()?;
        }
        for batch in loader.each_seed_once() {
            let Some(batch) = batch.transpose()? else { continue };
            let neighbourhood = &batch.neighbourhood;
            let forward = self.model.take_up(manager, parameters, loader.graph(), neighbourhood)?;
            let mut tape = Tape::evaluation(manager, parameters);
            let scores = self.scores(loader, &mut tape, &*forward, &batch)?.0;
            all.add(&*scores.pin()?, batch.edges.len())?;
        }
        let posted = all.post(*group)?;
        if in_turn {
            manager.precall_func()?;
        }
        all.evaluate(*group, posted, &hooks)
    }
}
