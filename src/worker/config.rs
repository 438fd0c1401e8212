//! Everything that a training run depends on.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::budget::MemoryBudget;
use crate::data::{DataKeys, Normalize};
use crate::nn::{ModelConfig, OptimizerConfig};
use crate::tape::Policy;
use crate::train::SamplingConfig;

/// Where spilled data go if nothing else is said: `$TMPDIR`, or else /var/tmp, which is on a disk where /tmp often is not.
pub fn default_spill_dir() -> PathBuf {
    std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}

/// A training run. Two runs with the same configuration (but for `resident`, `threads`, folders) give the same weights,
/// bit for bit, on the same machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// The partition directory's JSON file; one worker per partition.
    pub part_json: PathBuf,
    /// Which arrays hold what.
    pub keys: DataKeys,
    /// What is done to features.
    pub normalize_features: Normalize,
    /// The model.
    pub model: ModelConfig,
    /// What happens to the inside of layers between the forward and the backward pass.
    pub policy: Policy,
    /// Whether each layer is computed only for the nodes that labelled nodes need.
    pub mfg: bool,
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// Number of epochs.
    pub epochs: u32,
    /// Training on sampled neighbourhoods instead of the full graph.
    pub sampling: Option<SamplingConfig>,
    /// Seed of start values, dropout and samples.
    pub seed: u64,
    /// Start values instead of drawn ones: a safetensors file.
    pub init_params: Option<PathBuf>,
    /// Workers that may be in memory at a time.
    pub resident: usize,
    /// Threads a resident worker computes with.
    pub threads: usize,
    /// How much memory the run may take.
    pub memory_budget: MemoryBudget,
    /// Where a training step's logits, loss and gradients go; the run ends after that step, without an update.
    pub dump_step: Option<PathBuf>,
    /// The folder of results.
    pub out: PathBuf,
    /// The folder that spill and exchange files are put in (in a folder of their own, which goes with the run).
    pub spill_dir: PathBuf,
}

impl RunConfig {
    /// A run with everything at its default: 100 epochs, one worker in memory at a time, all cores.
    pub fn new(part_json: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        RunConfig {
            part_json: part_json.into(),
            keys: DataKeys::default(),
            normalize_features: Normalize::default(),
            model: ModelConfig::default(),
            policy: Policy::default(),
            mfg: false,
            optimizer: OptimizerConfig::default(),
            epochs: 100,
            sampling: None,
            seed: 0,
            init_params: None,
            resident: 1,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_budget: MemoryBudget::default(),
            dump_step: None,
            out: out.into(),
            spill_dir: default_spill_dir(),
        }
    }
}
