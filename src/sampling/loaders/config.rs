//! The division of seeds into batches.

use crate::words::error::{Error, Result};

/// Configuration of a [`DataLoader`](super::DataLoader).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataLoaderConfig {
    /// Number of seeds per batch.
    pub batch_size: usize,
    /// Whether each epoch visits the seeds in a new order.
    pub shuffle: bool,
    /// Whether a last, smaller batch is left out.
    pub drop_last: bool,
    /// Whether a rank with fewer seeds than others has smaller batches, so that each epoch visits each seed once.
    /// Otherwise it repeats batches.
    pub even: bool,
    /// Number of threads that sample ahead; 0 samples batches on request. The number does not change the batches.
    pub sampler_threads: usize,
    /// Seed of orders and samples.
    pub seed: u64,
}

/// The default: shuffled batches of 1024 seeds, the last one kept, sampled by one thread.
impl Default for DataLoaderConfig {
    fn default() -> Self {
        DataLoaderConfig {
            batch_size: 1024,
            shuffle: true,
            drop_last: false,
            even: false,
            sampler_threads: 1,
            seed: 0,
        }
    }
}

impl DataLoaderConfig {
    /// Checks the numbers.
    ///
    /// # Errors
    /// If the batch size is 0, or even batches leave seeds out.
    pub fn check(&self) -> Result<()> {
        match self.batch_size {
            0 => Err(Error::config("batch_size", "a batch must have at least one seed")),
            _ if self.even && self.drop_last => {
                Err(Error::config("drop_last", "even batches leave no seed out"))
            }
            _ => Ok(()),
        }
    }
}
