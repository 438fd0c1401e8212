//! The configuration of training on sampled neighbourhoods.

use serde::{Deserialize, Serialize};

use super::fanouts::Fanouts;
use super::update::GradientReduce;
use crate::graph::PartitionBook;
use crate::sampling::loaders::{DataLoaderConfig, DistNeighborSampler};
use crate::words::error::Result;

/// Configuration of training on sampled neighbourhoods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingConfig {
    /// Number of in-edges drawn per node; empty for models that need no neighbours while they train.
    pub fanouts: Fanouts,
    /// Whether an edge may be drawn several times.
    pub replace: bool,
    /// Key of the edge feature with the edges' relative probabilities; `None` draws uniformly.
    pub edge_probability: Option<String>,
    /// Number of seeds per batch on each rank.
    pub batch_size: usize,
    /// Number of sampler threads on each rank.
    pub sampler_threads: usize,
    /// How the gradients of the ranks are combined.
    pub reduce: GradientReduce,
    /// Whether seeds that share many neighbours are grouped into batches, which are then the same in each epoch.
    #[serde(default)]
    pub optimized_batches: bool,
    /// Number of steps between reports; `None` reports epochs only.
    #[serde(default)]
    pub log_every: Option<u32>,
}

impl SamplingConfig {
    /// Uniform draws without replacement for batches of the usual size, which the rank samples in its own turn.
    pub fn new(fanouts: Fanouts) -> Self {
        SamplingConfig {
            fanouts,
            replace: false,
            edge_probability: None,
            batch_size: DataLoaderConfig::default().batch_size,
            sampler_threads: 0,
            reduce: GradientReduce::default(),
            optimized_batches: false,
            log_every: None,
        }
    }

    /// Checks that the configuration fits a model that draws the neighbourhoods of `layers` layers.
    ///
    /// # Errors
    /// If the number of fan-outs differs from the number of layers, or the batch size is 0.
    pub fn check(&self, layers: usize) -> Result<()> {
        self.loader(0).check()?;
        self.fanouts.check(layers, "sampling.fanouts")
    }

    /// The sampler for a model of `layers` layers. `by_etype` says whether each edge type has its own layer.
    ///
    /// # Errors
    /// If an edge type is unknown or missing.
    pub fn sampler(
        &self,
        layers: usize,
        book: &PartitionBook,
        by_etype: bool,
    ) -> Result<DistNeighborSampler> {
        let fanouts = self.fanouts.by_layer(layers, book, by_etype, "sampling.fanouts")?;
        let sampler = DistNeighborSampler::new(fanouts)?;
        Ok(sampler.replace(self.replace).weighted(self.edge_probability.is_some()))
    }

    /// Configuration of the loader of shuffled batches.
    pub fn loader(&self, seed: u64) -> DataLoaderConfig {
        let SamplingConfig { batch_size, sampler_threads, .. } = *self;
        let even = self.reduce == GradientReduce::Weighted;
        DataLoaderConfig { batch_size, even, sampler_threads, seed, ..DataLoaderConfig::default() }
    }
}
