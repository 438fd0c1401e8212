//! How a model is trained on sampled neighbourhoods.

use serde::{Deserialize, Serialize};

use super::fanouts::Fanouts;
use super::update::Reduce;
use crate::error::{Error, Result};
use crate::graph::PartitionBook;
use crate::sampling::loaders::{DataLoaderConfig, DistNeighborSampler};

/// Configuration of a training on sampled neighbourhoods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingConfig {
    /// In-edges drawn per node.
    pub fanouts: Fanouts,
    /// Whether an edge may be drawn several times.
    pub replace: bool,
    /// Edges are drawn in proportion to this edge feature; uniformly if not given.
    pub edge_probability: Option<String>,
    /// Seeds per batch of each rank.
    pub batch_size: usize,
    /// Threads of each rank that sample ahead.
    pub sampler_threads: usize,
    /// How gradients of the ranks become one.
    pub reduce: Reduce,
}

impl SamplingConfig {
    /// Whether it fits a model of `layers` layers.
    ///
    /// # Errors
    /// If there is not one fan-out per layer, or the batch size is 0.
    pub fn check(&self, layers: usize) -> Result<()> {
        self.loader(0).check()?;
        if layers == 0 {
            let problem = "the model looks at no neighbours while it trains";
            return Err(Error::config("--mode sample", problem).with_hint("leave it out"));
        }
        self.fanouts.check(layers)
    }

    /// The sampler for a model of `layers` layers. `by_etype`: whether each edge type has a layer of its own.
    ///
    /// # Errors
    /// If an edge type is unknown or missing.
    pub fn sampler(
        &self,
        layers: usize,
        book: &PartitionBook,
        by_etype: bool,
    ) -> Result<DistNeighborSampler> {
        let sampler = DistNeighborSampler::new(self.fanouts.by_layer(layers, book, by_etype)?)?;
        Ok(sampler.replace(self.replace).weighted(self.edge_probability.is_some()))
    }

    /// The loader of shuffled batches.
    pub fn loader(&self, seed: u64) -> DataLoaderConfig {
        let SamplingConfig { batch_size, sampler_threads, .. } = *self;
        DataLoaderConfig { batch_size, sampler_threads, seed, ..DataLoaderConfig::default() }
    }
}
