//! One rank of training for link prediction on sampled neighbourhoods.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::batch_model::{BatchForward, BatchModel};
use super::pass::{BatchPass, BatchTrainer};
use super::step_log::StepLog;
use super::update::GradientReduce;
use crate::engine::comm::{NoHooks, ProcessGroup, barrier, broadcast, exchange_tensors};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::{ParameterSet, Policy, Tape, Var};
use crate::engine::tensor;
use crate::engine::turns::Work;
use crate::error::Result;
use crate::event::{Metric, Scores};
use crate::nn::{LinkScore, Optimizer, auc, link_loss, mean_link_loss, mean_reciprocal_rank};
use crate::sampling::loaders::{DistEdgeDataLoader, EdgeMiniBatch};

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

/// Quality of the scores of edges compared with drawn pairs, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkEvaluation {
    /// Mean loss over edges and pairs.
    pub loss: Option<f64>,
    /// Probability that an edge has a higher score than a drawn pair.
    pub auc: Option<f64>,
    /// Mean over edges of 1 / the edge's rank among its own pairs.
    pub mean_reciprocal_rank: Option<f64>,
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
            barrier(self.group, &NoHooks)?;
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
    /// if batches are sampled on demand. Rank 0 holds all scores, several times 4 bytes for each edge and pair. Three
    /// collectives, and one more after other work.
    ///
    /// # Errors
    /// If a batch cannot be read, or an operation or a collective fails.
    pub fn evaluate(&self, loader: &DistEdgeDataLoader) -> Result<LinkEvaluation> {
        let LinkTrainer { manager, group, parameters, .. } = self;
        if manager.begin_work(Work::SampledEvaluation)? {
            barrier(*group, &NoHooks)?;
        }
        let (mut edges, mut others) = (Vec::new(), Vec::new());
        let in_turn = loader.epoch(0).is_on_demand();
        if in_turn {
            manager.callback_func()?;
        }
        for batch in loader.each_seed_once() {
            let Some(batch) = batch.transpose()? else { continue };
            let neighbourhood = &batch.neighbourhood;
            let forward = self.model.take_up(manager, parameters, loader.graph(), neighbourhood)?;
            let mut tape = Tape::evaluation(manager, parameters);
            let scores = self.scores(loader, &mut tape, &*forward, &batch)?.0;
            let scores = scores.pin()?.f_to_kind(Kind::Float)?.f_contiguous()?;
            let scores = tensor::slice::<f32>(&scores);
            let (of_edges, of_others) = scores.split_at(batch.edges.len());
            edges.extend_from_slice(of_edges);
            others.extend_from_slice(of_others);
        }
        if in_turn {
            manager.precall_func()?;
        }
        // If every rank had all scores, they would take several times the memory.
        let [edges, others] = [self.bring_to_first(edges)?, self.bring_to_first(others)?];
        let evaluation = match group.rank() {
            0 => LinkEvaluation::of(edges, others)?,
            _ => LinkEvaluation::default(),
        };
        let numbers = vec![Tensor::f_from_slice(&evaluation.to_numbers())?];
        let numbers = broadcast(*group, numbers, 0, &NoHooks)?;
        Ok(LinkEvaluation::from_numbers(&tensor::slice::<f64>(&numbers[0])))
    }

    /// The values of all ranks, by rank, on rank 0. One collective.
    fn bring_to_first(&self, values: Vec<f32>) -> Result<Tensor> {
        let send = (0..self.group.world_size()).map(|rank| {
            Ok(match rank {
                0 => Tensor::f_from_slice(&values)?,
                _ => tensor::zeros(&[0], Kind::Float)?,
            })
        });
        let send = send.collect::<Result<_>>()?;
        drop(values);
        let all: Vec<Tensor> = exchange_tensors(self.group, send, &NoHooks)?;
        Ok(Tensor::f_cat(&all, 0)?)
    }
}

impl LinkEvaluation {
    /// The evaluation of these scores of edges and of drawn pairs.
    fn of(edges: Tensor, others: Tensor) -> Result<Self> {
        let (auc, mean_reciprocal_rank) = {
            let (edges, others) = (&tensor::slice::<f32>(&edges), &tensor::slice::<f32>(&others));
            (auc(edges, others), mean_reciprocal_rank(edges, others))
        };
        let count = edges.size()[0];
        let all = Tensor::f_cat(&[&edges, &others], 0)?.f_view([-1, 1])?;
        drop((edges, others));
        let loss = if all.size()[0] > 0 { Some(mean_link_loss(&all, count)?) } else { None };
        Ok(LinkEvaluation { loss, auc, mean_reciprocal_rank })
    }

    /// Three optional numbers, each preceded by 1 if it exists, otherwise 0.
    fn to_numbers(self) -> [f64; 6] {
        let [a, b, c] = [self.loss, self.auc, self.mean_reciprocal_rank]
            .map(|number| [f64::from(u8::from(number.is_some())), number.unwrap_or(0.0)]);
        [a[0], a[1], b[0], b[1], c[0], c[1]]
    }

    /// Inverse of [`to_numbers`](Self::to_numbers).
    fn from_numbers(numbers: &[f64]) -> Self {
        let number = |i: usize| Some(numbers[2 * i + 1]).filter(|_| numbers[2 * i] > 0.0);
        LinkEvaluation { loss: number(0), auc: number(1), mean_reciprocal_rank: number(2) }
    }
}
