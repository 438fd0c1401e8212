//! Flags of a training on sampled neighbourhoods.

use clap::ValueEnum;

use crate::error::{Error, Result};
use crate::loader::DataLoaderConfig;
use crate::train::{Reduce, SamplingConfig};

/// What a training step sees of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// All of it
    Full,
    /// Sampled neighbourhoods of some training nodes; the full graph is for evaluation
    Sample,
}

/// What was said about sampling. (clap does not see through a group of flags inside an optional one, so the flags stand
/// among those of training.)
pub(super) struct SamplingFlags {
    pub(super) mode: Mode,
    pub(super) fanouts: Option<Vec<i64>>,
    pub(super) batch_size: Option<usize>,
    pub(super) sampler_threads: Option<usize>,
    pub(super) reduce: Option<Reduce>,
}

impl SamplingFlags {
    /// The configuration for a model of `layers` layers; `None` for full-batch training.
    ///
    /// # Errors
    /// If flags of the other mode are given.
    pub(super) fn config(self, layers: usize) -> Result<Option<SamplingConfig>> {
        let SamplingFlags { mode, fanouts, batch_size, sampler_threads, reduce } = self;
        if mode == Mode::Full {
            let given = [
                ("--fanouts", fanouts.is_some()),
                ("--batch-size", batch_size.is_some()),
                ("--sampler-threads", sampler_threads.is_some()),
                ("--reduce", reduce.is_some()),
            ];
            return match given.iter().find(|(_, given)| *given) {
                Some((flag, _)) => {
                    Err(Error::config(flag, "is for training on sampled neighbourhoods")
                        .with_hint("add --mode sample"))
                }
                None => Ok(None),
            };
        }
        let defaults = DataLoaderConfig::default();
        Ok(Some(SamplingConfig {
            fanouts: fanouts.unwrap_or_else(|| vec![10; layers]),
            batch_size: batch_size.unwrap_or(defaults.batch_size),
            sampler_threads: sampler_threads.unwrap_or(defaults.sampler_threads),
            reduce: reduce.unwrap_or_default(),
        }))
    }
}
