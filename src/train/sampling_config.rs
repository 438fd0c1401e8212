//! How a model is trained on sampled neighbourhoods.

use serde::{Deserialize, Serialize};

use super::update::Reduce;
use crate::dist::Fanout;
use crate::error::{Error, Result};
use crate::loader::{DataLoaderConfig, DistNeighborSampler};

/// Configuration of a training on sampled neighbourhoods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingConfig {
    /// In-edges drawn per node, one number per layer, the input layer's first; negative means all.
    pub fanouts: Vec<i64>,
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
        if self.fanouts.len() != layers {
            let problem = format!("{} fan-outs for {layers} layers", self.fanouts.len());
            return Err(Error::config("fanouts", problem)
                .with_hint("name one per layer, the input layer's first: --fanouts 15,10,5"));
        }
        Ok(())
    }

    /// The sampler.
    pub fn sampler(&self) -> Result<DistNeighborSampler> {
        DistNeighborSampler::new(self.fanouts.iter().map(|fanout| Fanout::Total(*fanout)).collect())
    }

    /// The loader of shuffled batches.
    pub fn loader(&self, seed: u64) -> DataLoaderConfig {
        let SamplingConfig { batch_size, sampler_threads, .. } = *self;
        DataLoaderConfig { batch_size, sampler_threads, seed, ..DataLoaderConfig::default() }
    }
}
