//! One rank of a training on sampled neighbourhoods.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::comm::{NoHooks, ProcessGroup, gather_grads};
use crate::dist::DistGraph;
use crate::error::{Error, Result};
use crate::io::IoTotals;
use crate::ipc::Phase;
use crate::loader::{DataLoader, MiniBatch};
use crate::nn::{Model, Optimizer, accuracy_counts, cross_entropy};
use crate::spill::PartitionDataManager;
use crate::tape::{BlockGraph, Graph, ParameterSet, Policy, Tape};

/// The name of the input features in a batch.
pub const FEATURES: &str = "features";
/// The name of the seeds' labels in a batch.
pub const LABELS: &str = "labels";

/// How the gradients of the ranks become one at each step. Each rank's is that of the mean loss over its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Reduce {
    /// Their mean, as PyTorch's `DistributedDataParallel`.
    #[default]
    Mean,
    /// Their sum, as SAR's `gather_grads`.
    Sum,
}

/// A model with a loader of batches whose [`FEATURES`] and [`LABELS`] are read. All ranks are in memory side by side.
pub struct SampledTrainer<'a> {
    /// This rank's tensors.
    pub manager: &'a Rc<PartitionDataManager>,
    /// The other ranks.
    pub group: &'a dyn ProcessGroup,
    /// The model.
    pub model: &'a dyn Model,
    /// Its parameters.
    pub parameters: &'a Rc<ParameterSet>,
    /// The batches.
    pub loader: &'a DataLoader,
    /// How gradients are put together.
    pub reduce: Reduce,
    /// Whether the model looks at edge types.
    pub edge_types: bool,
    /// Seed of dropout.
    pub seed: u64,
}

/// A pass over all batches, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledEpoch {
    /// Mean over the seeds of all steps, before each step's update; `None` without seeds.
    pub loss: Option<f64>,
    /// Share of the seeds that were classified right, likewise.
    pub accuracy: Option<f64>,
    /// Bytes written and read by all ranks.
    pub io: IoTotals,
}

impl SampledTrainer<'_> {
    /// One epoch (from 1): for each batch a forward and a backward pass, one collective, and the optimizer's update, the same
    /// on every rank.
    pub fn epoch(&self, epoch: u32, optimizer: &mut Optimizer) -> Result<SampledEpoch> {
        self.manager.lock().status().set_epoch(epoch);
        // Loss, classified right, seeds, bytes written, bytes read.
        let mut totals = [0.0; 5];
        let mut io = self.manager.store().counters().totals();
        for (step, batch) in self.loader.epoch(epoch).enumerate() {
            let (gradient, [loss, right, seeds]) = self.step(&batch?, epoch, step)?;
            self.manager.set_phase(Phase::GatherGrads);
            let before = std::mem::replace(&mut io, self.manager.store().counters().totals());
            let bytes = [io.written - before.written, io.read - before.read];
            let [written, read] = bytes.map(|bytes| bytes as f64);
            let counts = [loss, right, seeds, written, read];
            let sums = vec![gradient, Tensor::f_from_slice(&counts)?];
            let sums = gather_grads(self.group, sums, &NoHooks)?;
            let [gradient, counts] = <[Tensor; 2]>::try_from(sums)
                .map_err(|_| Error::Internal("gathering lost a tensor".to_owned()))?;
            let gradient = match self.reduce {
                Reduce::Sum => gradient,
                Reduce::Mean => gradient.f_div_scalar(self.group.world_size() as f64)?,
            };
            optimizer.step(self.parameters, gradient)?;
            let counts: Vec<f64> = Vec::try_from(counts)?;
            totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        let [loss, right, seeds, written, read] = totals;
        let io = IoTotals { written: written as u64, read: read as u64 };
        let mean = |sum: f64| (seeds > 0.0).then(|| sum / seeds);
        Ok(SampledEpoch { loss: mean(loss), accuracy: mean(right), io })
    }

    /// This rank's gradient of the mean loss over the batch, and its counts.
    fn step(&self, batch: &MiniBatch, epoch: u32, step: usize) -> Result<(Tensor, [f64; 3])> {
        let seeds = batch.seeds().len();
        if seeds == 0 {
            let flat = self.parameters.flat();
            return Ok((crate::tensor::zeros(flat.size(), flat.kind())?, [0.0; 3]));
        }
        let graphs = block_graphs(self.manager, self.loader.graph(), batch, self.edge_types)?;
        let graphs: Vec<&dyn Graph> = graphs.iter().map(|graph| graph as &dyn Graph).collect();
        // Two steps of an epoch drop different elements of a node.
        let key = (self.seed ^ (step as u64) << 32, epoch);
        let policy = Policy::Rematerialise;
        let mut tape = Tape::training(self.manager, self.parameters, policy, key);
        let features = batch.input(FEATURES)?.f_to_kind(self.parameters.kind())?;
        let features = tape.input(&self.manager.track("features", features));
        let logits = self.model.forward(&mut tape, &graphs, features)?;
        let labels = batch.output(LABELS)?;
        let (counts, gradient) = {
            let values = logits.pin()?;
            let all = labels.f_ge(0)?;
            let (loss, gradient) = cross_entropy(&values, labels, &all, seeds as i64)?;
            let right = accuracy_counts(&values, labels, &all)?.0;
            ([loss * seeds as f64, right as f64, seeds as f64], gradient)
        };
        let gradients = tape.backward(logits, gradient)?;
        Ok((self.parameters.flat_gradients(&gradients)?, counts))
    }
}

/// The blocks of a batch as graphs for a model's layers, with edge types if asked for.
pub fn block_graphs(
    manager: &Rc<PartitionDataManager>,
    graph: &DistGraph,
    batch: &MiniBatch,
    edge_types: bool,
) -> Result<Vec<BlockGraph>> {
    let book = edge_types.then(|| &**graph.book());
    let graph = |block: &crate::graph::Block| {
        BlockGraph::new(manager, block, &batch.out_degrees[..block.num_sources()], book)
    };
    batch.blocks.iter().map(graph).collect()
}
