//! One rank of training for link prediction on sampled neighbourhoods.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::batch_model::{BatchForward, BatchModel};
use super::batch_turn::with_next_batch;
use super::step_log::{LoggedSteps, StepLog};
use super::update::{GradientReduce, Updates};
use crate::engine::comm::{NoHooks, ProcessGroup, barrier, broadcast, exchange_tensors};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::{ParameterSet, Policy, Tape, Var};
use crate::engine::tensor;
use crate::engine::turns::{Phase, Work};
use crate::error::Result;
use crate::event::{Metric, SampleReport, Scores};
use crate::io::IoTotals;
use crate::nn::{LinkScore, Optimizer, auc, link_loss, mean_link_loss, mean_reciprocal_rank};
use crate::platform::ProcessorSeconds;
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

/// Results of a pass over all batches of training edges, summed over all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPass {
    /// Mean loss over the batches, before each step's update.
    pub loss: f64,
    /// Bytes written and read by all ranks.
    pub io: IoTotals,
    /// Processor time of all ranks.
    pub processor: ProcessorSeconds,
    /// Batches of all ranks, and the rows that they used.
    pub samples: SampleReport,
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

/// A rank's part of a step.
struct RankStep {
    /// Gradient of the mean loss over the batch's pairs.
    gradient: Tensor,
    /// Weight of the gradient.
    weight: f64,
    /// The value of the loss.
    loss: f64,
    /// 1 if the batch has edges, otherwise 0.
    batches: f64,
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
    ) -> Result<LinkPass> {
        let LinkTrainer { manager, group, parameters, .. } = self;
        manager.lock().status().set_epoch(epoch);
        if manager.begin_work(Work::Training)? {
            barrier(*group, &NoHooks)?;
        }
        let mut totals = [0.0; 7 + IoTotals::COUNTS];
        let mut processor = ProcessorSeconds::of_this_process();
        let mut before = (manager.store().counters().totals(), loader.sampler().row_bytes());
        let mut all = loader.epoch(epoch);
        let logged = LoggedSteps::of_epoch(self.log, epoch, all.steps());
        let updates = Updates::new(*group, manager, parameters, self.reduce, all.is_on_demand())
            .clipped(clip_norm);
        let metric = Metric::MeanReciprocalRank;
        let scores = Scores { metric, train: None, val: None, test: None };
        for number in 0.. {
            let work = |batch: &EdgeMiniBatch| self.step(loader, batch, epoch, number);
            let step = with_next_batch(manager, &mut all, work)?;
            let Some(RankStep { gradient, weight, loss, batches }) = step else { break };
            manager.set_phase(Phase::GatherGrads);
            self.model.update_rows(optimizer.lr(), *group)?;
            let now = (manager.store().counters().totals(), loader.sampler().row_bytes());
            let rows = now.1 - before.1;
            let io = (now.0 - before.0).to_f64();
            let [needed, rows_read] = [rows.needed, rows.read].map(|bytes| bytes as f64);
            before = now;
            let earlier = std::mem::replace(&mut processor, ProcessorSeconds::of_this_process());
            let ProcessorSeconds { user, system } = processor - earlier;
            let counts = [weight, weight * loss, batches, needed, rows_read, user, system];
            let counts = [&counts[..], &io].concat();
            let sums = updates.make(gradient, &counts, optimizer)?;
            totals.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
            logged.step(number, sums[1] / sums[0].max(f64::MIN_POSITIVE), scores)?;
        }
        let [weight, loss, batches, needed, rows_read, user, system, io @ ..] = totals;
        Ok(LinkPass {
            loss: loss / weight.max(f64::MIN_POSITIVE),
            io: IoTotals::from_f64(io),
            processor: ProcessorSeconds { user, system },
            samples: SampleReport {
                batches: batches as u64,
                row_bytes_needed: needed as u64,
                row_bytes_read: rows_read as u64,
            },
        })
    }

    /// This rank's part of a step; zeros without edges.
    fn step(
        &self,
        loader: &DistEdgeDataLoader,
        batch: &EdgeMiniBatch,
        epoch: u32,
        step: usize,
    ) -> Result<RankStep> {
        let LinkTrainer { manager, parameters, seed, policy, .. } = self;
        if batch.edges.is_empty() {
            let flat = parameters.flat();
            let gradient = tensor::zeros(flat.size(), flat.kind())?;
            return Ok(RankStep { gradient, weight: 0.0, loss: 0.0, batches: 0.0 });
        }
        let neighbourhood = &batch.neighbourhood;
        let forward = self.model.take_up(manager, parameters, loader.graph(), neighbourhood)?;
        // Dropout must differ between the steps of an epoch.
        let seed = seed ^ (step as u64) << 32;
        let mut tape = Tape::training(manager, parameters, *policy, seed, epoch);
        let (scores, learned) = self.scores(loader, &mut tape, &*forward, batch)?;
        let (loss, gradient) = link_loss(&*scores.pin()?, batch.edges.len() as i64)?;
        let gradients = tape.backward(scores, gradient)?;
        forward.keep_gradients(&learned, &gradients)?;
        let gradient = parameters.flat_gradients(&gradients)?;
        let weight = self.reduce.weight(batch.edges.len() as f64);
        Ok(RankStep { gradient, weight, loss, batches: 1.0 })
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
