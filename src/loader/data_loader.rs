//! The batches of one rank's seeds.

use std::sync::Arc;

use tch::Tensor;

use super::batches::Batches;
use super::config::DataLoaderConfig;
use super::mini_batch::MiniBatch;
use super::neighbor_sampler::DistNeighborSampler;
use crate::comm::{Hooks, ProcessGroup, ReduceOp, all_reduce};
use crate::dist::{DistGraph, SampleKey, permutation};
use crate::error::Result;

/// Cuts one rank's seeds into batches and samples their neighbourhoods: SAR's `DataLoader`. An epoch's batches are a pure
/// function of the configuration, the seeds, the rank and the epoch.
pub struct DataLoader {
    task: Arc<Task>,
}

/// Everything a sampler thread needs.
pub(super) struct Task {
    graph: Arc<DistGraph>,
    sampler: DistNeighborSampler,
    seeds: Vec<u64>,
    pub(super) config: DataLoaderConfig,
    rank: usize,
    world_size: usize,
    /// Batches per epoch, on every rank.
    pub(super) steps: usize,
}

impl DataLoader {
    /// A loader of this rank's `seeds` (homogeneous ids, each named once); one collective, in which the ranks learn how many
    /// batches the rank with the most of them has. Ranks with fewer repeat theirs (with other neighbours); a rank without
    /// seeds gets batches without seeds. So all ranks make the same number of steps.
    ///
    /// # Errors
    /// If the batch size is 0.
    pub fn new(
        graph: Arc<DistGraph>,
        seeds: Vec<u64>,
        sampler: DistNeighborSampler,
        config: DataLoaderConfig,
        (group, hooks): (&dyn ProcessGroup, &dyn Hooks),
    ) -> Result<Self> {
        config.check()?;
        let (rank, world_size) = (group.rank(), group.world_size());
        let mut task = Task { graph, sampler, seeds, config, rank, world_size, steps: 0 };
        let own = Tensor::f_from_slice(&[task.num_batches() as i64])?;
        let most = all_reduce(group, vec![own], ReduceOp::Max, hooks)?;
        task.steps = most[0].f_int64_value(&[0])? as usize;
        Ok(DataLoader { task: Arc::new(task) })
    }

    /// Batches per epoch, the same on every rank.
    pub fn len(&self) -> usize {
        self.task.steps
    }

    /// Whether no rank has a batch.
    pub fn is_empty(&self) -> bool {
        self.task.steps == 0
    }

    /// The graph that is sampled.
    pub fn graph(&self) -> &Arc<DistGraph> {
        &self.task.graph
    }

    /// The batches of an epoch. Sampling starts at once; dropped before its end, it stops.
    pub fn epoch(&self, epoch: u32) -> Batches {
        Batches::start(&self.task, epoch)
    }
}

impl Task {
    fn num_batches(&self) -> usize {
        let (seeds, size) = (self.seeds.len(), self.config.batch_size);
        if self.config.drop_last { seeds / size } else { seeds.div_ceil(size) }
    }

    /// The order of the seeds in an epoch.
    pub(super) fn order(&self, epoch: u32) -> Vec<u64> {
        if !self.config.shuffle {
            return self.seeds.clone();
        }
        let order = permutation(self.seeds.len(), (self.config.seed, epoch, self.rank as u32));
        order.into_iter().map(|i| self.seeds[i as usize]).collect()
    }

    /// Batch number `step` of an epoch whose seeds come in this order.
    pub(super) fn batch(&self, epoch: u32, order: &[u64], step: usize) -> Result<MiniBatch> {
        let size = self.config.batch_size;
        let seeds = match self.num_batches() {
            0 => &[],
            own => {
                let begin = step % own * size;
                &order[begin..order.len().min(begin + size)]
            }
        };
        let batch = (step * self.world_size + self.rank) as u32;
        let key = SampleKey { seed: self.config.seed, epoch, batch, layer: 0 };
        self.sampler.sample(&self.graph, seeds, key)
    }
}
