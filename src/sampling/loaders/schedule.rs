//! The assignment of seeds to batches.

use tch::Tensor;

use super::config::DataLoaderConfig;
use crate::engine::comm::{Ranks, ReduceOp, all_reduce};
use crate::error::Result;
use crate::sampling::stores::{SampleKey, permutation};

/// Batches of one rank's seeds; the number of steps is the same on all ranks.
#[derive(Clone)]
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
        seeds: Vec<u64>,
        config: DataLoaderConfig,
        Ranks { group, hooks }: Ranks<'_>,
    ) -> Result<Self> {
        config.check()?;
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
        BatchSchedule { optimized: Some(batches), ..self.clone() }
    }

    /// Number of batches per epoch.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Number of batches with the rank's own seeds.
    pub(super) fn num_batches(&self) -> usize {
        self.optimized.as_ref().map_or(self.own, Vec::len)
    }

    /// Order of the seeds in an epoch, or of the batches that were grouped beforehand.
    pub(super) fn order(&self, epoch: u32) -> Vec<u64> {
        let numbers: Vec<u64> = match &self.optimized {
            Some(batches) => (0..batches.len() as u64).collect(),
            None => self.seeds.clone(),
        };
        if !self.config.shuffle {
            return numbers;
        }
        let order = permutation(numbers.len(), self.config.seed, epoch, self.rank as u32);
        order.into_iter().map(|i| numbers[i as usize]).collect()
    }

    /// Seeds of a step, and the key of its samples, given the epoch's order. A rank with fewer batches than steps
    /// repeats them, unless batches are even; a rank without seeds has empty ones.
    pub(super) fn batch<'o>(
        &'o self,
        epoch: u32,
        order: &'o [u64],
        step: usize,
    ) -> (&'o [u64], SampleKey) {
        let size = self.config.batch_size;
        let seeds = match (self.num_batches(), &self.optimized) {
            (0, _) => &[][..],
            (_, Some(batches)) => &batches[order[step] as usize],
            (_, None) if self.config.even => {
                let place =
                    |step: usize| (order.len() as u64 * step as u64 / self.steps as u64) as usize;
                &order[place(step)..place(step + 1)]
            }
            (own, None) => {
                let begin = step % own * size;
                &order[begin..order.len().min(begin + size)]
            }
        };
        let batch = (step * self.world_size + self.rank) as u32;
        (seeds, SampleKey { seed: self.config.seed, epoch, batch, layer: 0 })
    }
}
