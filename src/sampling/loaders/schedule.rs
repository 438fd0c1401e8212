//! The assignment of seeds to batches.

use std::ops::Range;

use tch::Tensor;

use super::config::DataLoaderConfig;
use crate::engine::comm::{Ranks, ReduceOp, all_reduce};
use crate::sampling::stores::{SampleKey, permutation};
use crate::words::error::Result;

/// Batches of one rank's seeds; the number of steps is the same on all ranks.
pub(super) struct BatchSchedule {
    pub(super) seeds: Vec<u64>,
    /// Batches that were grouped beforehand, if there are any.
    optimized: Option<Vec<Vec<u64>>>,
    pub(super) config: DataLoaderConfig,
    pub(super) rank: usize,
    world_size: usize,
    steps: usize,
    /// Number of batches of the rank's own seeds, unless they were grouped beforehand.
    own: usize,
}

impl BatchSchedule {
    /// Creates the schedule; the ranks agree on the number of steps in one collective.
    pub(super) fn new(
        mut seeds: Vec<u64>,
        config: DataLoaderConfig,
        Ranks { group, hooks }: Ranks<'_>,
    ) -> Result<Self> {
        config.check()?;
        seeds.shrink_to_fit();
        let (rank, world_size) = (group.rank(), group.world_size());
        let optimized = None;
        let DataLoaderConfig { batch_size: size, drop_last, .. } = config;
        let own = if drop_last { seeds.len() / size } else { seeds.len().div_ceil(size) };
        let most =
            all_reduce(group, vec![Tensor::f_from_slice(&[own as i64])?], ReduceOp::Max, hooks)?;
        let steps = most[0].f_int64_value(&[0])? as usize;
        let own = if config.even && own > 0 { steps } else { own };
        Ok(BatchSchedule { seeds, optimized, config, rank, world_size, steps, own })
    }

    /// The same schedule with batches that were grouped beforehand.
    pub(super) fn with_batches(&self, batches: Vec<Vec<u64>>) -> Self {
        let (seeds, optimized) = (Vec::new(), Some(batches));
        let BatchSchedule { config, rank, world_size, steps, own, .. } = *self;
        BatchSchedule { seeds, optimized, config, rank, world_size, steps, own }
    }

    /// Whether batches were grouped beforehand.
    pub(super) fn is_grouped(&self) -> bool {
        self.optimized.is_some()
    }

    /// Number of batches per epoch.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Number of batches with the rank's own seeds.
    pub(super) fn num_batches(&self) -> usize {
        self.optimized.as_ref().map_or(self.own, Vec::len)
    }

    /// Places of the seeds in an epoch's order, or of the batches that were grouped beforehand; `None` if they keep theirs.
    pub(super) fn order(&self, epoch: u32) -> Option<Vec<u32>> {
        let count = self.optimized.as_ref().map_or(self.seeds.len(), Vec::len);
        let DataLoaderConfig { shuffle, seed, .. } = self.config;
        shuffle.then(|| permutation(count, seed, epoch, self.rank as u32))
    }

    /// Seeds of a step, and the key of its samples, given the epoch's order. A rank with fewer batches than steps
    /// repeats them, unless batches are even; a rank without seeds has empty ones.
    pub(super) fn batch(
        &self,
        epoch: u32,
        order: Option<&[u32]>,
        step: usize,
    ) -> (Vec<u64>, SampleKey) {
        let (size, all) = (self.config.batch_size, self.seeds.len());
        let place = |i: usize| order.map_or(i, |order| order[i] as usize);
        let chosen = |range: Range<usize>| range.map(|i| self.seeds[place(i)]).collect::<Vec<_>>();
        let seeds = match (self.num_batches(), &self.optimized) {
            (0, _) => Vec::new(),
            (_, Some(batches)) => batches[place(step)].clone(),
            (_, None) if self.config.even => {
                let begin = |step: usize| (all as u64 * step as u64 / self.steps as u64) as usize;
                chosen(begin(step)..begin(step + 1))
            }
            (own, None) => {
                let begin = step % own * size;
                chosen(begin..all.min(begin + size))
            }
        };
        let batch = (step * self.world_size + self.rank) as u32;
        (seeds, SampleKey { seed: self.config.seed, epoch, batch, layer: 0 })
    }
}
