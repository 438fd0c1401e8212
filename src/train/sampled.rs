//! One rank's pass over sampled neighbourhoods.

use std::collections::BTreeMap;
use std::rc::Rc;

use tch::{Kind, Tensor};

use super::batch_model::BatchModel;
use super::batch_turn::with_next_batch;
use super::evaluation_loaders::EvaluationLoaders;
use super::step_log::{LoggedSteps, StepLog};
use super::trainer::Trainer;
use super::update::{GradientReduce, Updates};
use crate::engine::spill::PartitionDataManager;
use crate::engine::tape::{BlockGraph, SourceDegrees, Tape};
use crate::engine::tensor;
use crate::engine::turns::Phase;
use crate::error::Result;
use crate::event::{SampleReport, Scores};
use crate::graph::Block;
use crate::io::IoTotals;
use crate::load::RowBytes;
use crate::nn::{Optimizer, ScoreSums};
use crate::platform::ProcessorSeconds;
use crate::sampling::loaders::{DataLoader, MiniBatch};
use crate::sampling::stores::GraphSource;

/// Name of the input features in a batch.
pub const FEATURES: &str = "features";
/// Name of the seeds' labels in a batch.
pub const LABELS: &str = "labels";
/// Name of the edge features in a batch.
pub const EDGE_FEATURES: &str = "edge-features";

/// Trains a [`Trainer`]'s model on batches with [`FEATURES`] and [`LABELS`].
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

/// Results of a pass over all batches, summed over all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledPass {
    /// Mean loss over the batches, before each step's update; `None` without seeds.
    pub loss: Option<f64>,
    /// The task's metric over the seeds, before each step's update.
    pub score: Option<f64>,
    /// Bytes written and read by all ranks.
    pub io: IoTotals,
    /// Processor time of all ranks.
    pub processor: ProcessorSeconds,
    /// Batches of all ranks, and the rows that they used.
    pub samples: SampleReport,
}

/// Numbers that ranks sum in each step, along with the gradient: its weight, weighted loss, batches, the sums of the score,
/// seeds, bytes of rows requested and read, seconds in user and kernel mode, bytes written and read.
type Counts = [f64; 11 + IoTotals::COUNTS];

impl SampledTrainer<'_> {
    /// One pass (epochs count from 1). Each batch has a forward and a backward pass, one collective, and the
    /// optimizer's update, which is the same on every rank; with learned rows, also three collectives per node type,
    /// and the update of the batches' rows. Up to `room` bytes of rows of the most frequent nodes are kept. The rank
    /// must not have the turn before this call, and does not have it afterwards. If the loader samples on demand, the
    /// rank takes a turn per batch; otherwise ranks work in parallel. (Batches requested from other ranks, through a
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
    ) -> Result<SampledPass> {
        let Trainer { manager, group, parameters, outputs, .. } = *self.full;
        manager.lock().status().set_epoch(epoch);
        let mut totals: Counts = [0.0; 11 + IoTotals::COUNTS];
        let mut io = manager.store().counters().totals();
        let mut processor = ProcessorSeconds::of_this_process();
        let mut rows = self.row_bytes();
        self.loader.keep_rows(room)?;
        let mut all = self.loader.epoch(epoch);
        let (metric, task) = (self.full.loss.task().metric(), self.full.loss.task());
        let logged = LoggedSteps::of_epoch(self.log, epoch, all.steps());
        let updates = Updates::new(group, manager, parameters, self.reduce, all.is_on_demand())
            .clipped(clip_norm);
        for number in 0.. {
            let step = with_next_batch(manager, &mut all, |batch| self.step(batch, epoch, number))?;
            let Some((gradient, of_batch)) = step else { break };
            manager.set_phase(Phase::GatherGrads);
            self.model.update_rows(optimizer.lr(), group)?;
            let before = std::mem::replace(&mut io, manager.store().counters().totals());
            let moved = (io - before).to_f64();
            let before = std::mem::replace(&mut rows, self.row_bytes());
            let of_rows = rows - before;
            let of_rows = [of_rows.needed, of_rows.read].map(|bytes| bytes as f64);
            let before = std::mem::replace(&mut processor, ProcessorSeconds::of_this_process());
            let ProcessorSeconds { user, system } = processor - before;
            let [needed, rows_read] = of_rows;
            let counts = [&of_batch[..], &[needed, rows_read, user, system], &moved].concat();
            let counts = updates.make(gradient, &counts, optimizer)?;
            let counts: Counts = std::array::from_fn(|i| counts[i]);
            totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
            let [weight, loss, _, a, b, c, seeds, ..] = counts;
            let train = ScoreSums([a, b, c]).score(task, seeds as i64, outputs);
            let scores = Scores { metric, train, val: None, test: None };
            logged.step(number, loss / weight.max(f64::MIN_POSITIVE), scores)?;
        }
        let [weight, loss, batches, a, b, c, seeds, of_ranks @ ..] = totals;
        let [needed, rows_read, user, system, io @ ..] = of_ranks;
        let processor = ProcessorSeconds { user, system };
        let io = IoTotals::from_f64(io);
        let score = ScoreSums([a, b, c]).score(task, seeds as i64, outputs);
        let samples = SampleReport {
            batches: batches as u64,
            row_bytes_needed: needed as u64,
            row_bytes_read: rows_read as u64,
        };
        let loss = (weight > 0.0).then(|| loss / weight);
        Ok(SampledPass { loss, score, io, processor, samples })
    }

    /// Bytes of input rows that this rank's batches have used so far, and bytes that were read for them.
    pub(super) fn row_bytes(&self) -> RowBytes {
        self.loader.sampler().row_bytes() + self.model.row_bytes()
    }

    /// This rank's gradient of the mean loss over the batch, and its first counts.
    fn step(&self, batch: &MiniBatch, epoch: u32, step: usize) -> Result<(Tensor, [f64; 7])> {
        let Trainer { manager, parameters, loss, seed, policy, .. } = self.full;
        let seeds = batch.seeds().len();
        if seeds == 0 {
            let flat = parameters.flat();
            return Ok((tensor::zeros(flat.size(), flat.kind())?, [0.0; 7]));
        }
        let forward = self.model.take_up(manager, parameters, self.loader.graph(), batch)?;
        // Dropout must differ between the steps of an epoch.
        let seed = seed ^ (step as u64) << 32;
        let mut tape = Tape::training(manager, parameters, *policy, seed, epoch);
        let (logits, learned) = forward.forward(&mut tape)?;
        let labels = batch.output(LABELS)?;
        let (counts, gradient) = {
            let values = logits.pin()?;
            let all = Tensor::f_ones([seeds as i64], (Kind::Bool, values.device()))?;
            // All class weights of a batch may be 0.
            let divisor = loss.divisor(labels, &all)?.max(f64::MIN_POSITIVE);
            let (mean, gradient) = loss.forward(&values, labels, &all, divisor)?;
            let ScoreSums([a, b, c]) = ScoreSums::new(loss.task(), &values, labels, &all)?;
            let weight = self.reduce.weight(divisor);
            ([weight, mean * weight, 1.0, a, b, c, seeds as f64], gradient)
        };
        let gradients = tape.backward(logits, gradient)?;
        forward.keep_gradients(&learned, &gradients)?;
        Ok((parameters.flat_gradients(&gradients)?, counts))
    }
}

/// Blocks of a batch as graphs for a model's layers, with edge types if they are needed, and with [`EDGE_FEATURES`] if
/// the batch has them.
///
/// # Errors
/// If the batch was sampled without degrees or types that the graphs need, or memory runs out (`Tensor`).
pub fn block_graphs(
    manager: &Rc<PartitionDataManager>,
    graph: &dyn GraphSource,
    batch: &MiniBatch,
    edge_types: bool,
) -> Result<Vec<BlockGraph>> {
    let book = edge_types.then(|| &**graph.book());
    let graph = |(block, edata): (&Block, &BTreeMap<String, Tensor>)| {
        let sources = ..block.num_sources();
        let degrees = SourceDegrees {
            incoming: batch.in_degrees.as_ref().map(|degrees| &degrees[sources]),
            outgoing: batch.out_degrees.as_ref().map(|degrees| &degrees[sources]),
        };
        let graph = BlockGraph::new(manager, block, degrees, book)?;
        Ok(match edata.get(EDGE_FEATURES) {
            Some(features) => graph.with_edge_features(manager, block, features.shallow_clone())?,
            None => graph,
        })
    };
    batch.blocks.iter().zip(&batch.edata).map(graph).collect()
}
