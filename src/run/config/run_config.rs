//! Everything that a training run depends on.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::link_config::LinkConfig;
use super::memory_budget::MemoryBudget;
use super::old_config::with_gcn_norm;
use super::on_nan::OnNan;
use crate::engine::spill::{ComputeDtype, SpillDtype};
use crate::engine::spill_dir::default_spill_dir;
use crate::engine::tape::Policy;
use crate::error::{Error, Result};
use crate::io::IoMode;
use crate::load::{DataKeys, Normalize};
use crate::nn::{ClassWeights, ModelConfig, OptimizerConfig, RelationMerge, Schedule, Task};
use crate::train::{Regime, SamplingConfig};

/// How a model with a layer per edge type is put together (`dgl.nn.HeteroGraphConv`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relations {
    /// How the results of several edge types for one node type become one.
    pub merge: RelationMerge,
    /// The node type that is predicted; if not given, the one with labels.
    pub target: Option<String>,
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
    /// What is learned.
    pub task: Task,
    /// Weights of classes in the loss; all 1 if not given.
    pub class_weights: Option<ClassWeights>,
    /// The model.
    pub model: ModelConfig,
    /// A layer per edge type; if not given, the node types' features decide.
    pub relations: Option<Relations>,
    /// What happens to the inside of layers between the forward and the backward pass.
    pub policy: Policy,
    /// Whether each layer is computed only for the nodes that labelled nodes need.
    pub mfg: bool,
    /// Whether an aggregation has the rows of all other partitions in memory at once.
    pub one_shot: bool,
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// How the learning rate changes.
    pub schedule: Schedule,
    /// The largest norm of a gradient; larger ones are scaled down.
    pub clip_norm: Option<f64>,
    /// Epochs without a better validation metric after which training stops, with the best weights.
    pub patience: Option<u32>,
    /// What happens when the loss is no longer finite.
    #[serde(default)]
    pub on_nan: OnNan,
    /// Epochs between checkpoints; none are written if not given.
    pub checkpoint_every: Option<u32>,
    /// Number of epochs.
    pub epochs: u32,
    /// Training on sampled neighbourhoods instead of the full graph.
    pub sampling: Option<SamplingConfig>,
    /// Predicting edges instead of what `task` says of nodes.
    pub link: Option<LinkConfig>,
    /// Seed of start values, dropout and samples.
    pub seed: u64,
    /// Start values instead of drawn ones: a safetensors file.
    pub init_params: Option<PathBuf>,
    /// Workers that may be in memory at a time; if not given, two as soon as it shows that the memory budget allows it.
    pub resident: Option<usize>,
    /// Threads a resident worker computes with.
    pub threads: usize,
    /// How much memory the run may take.
    pub memory_budget: MemoryBudget,
    /// What rows that outlive an operation are held as.
    pub spill_dtype: SpillDtype,
    /// What layers compute with.
    pub compute_dtype: ComputeDtype,
    /// How spill and exchange files that the page cache has no room for are written and read.
    pub io: IoMode,
    /// Where a training step's logits, loss and gradients go; the run ends after that step, without an update.
    pub dump_step: Option<PathBuf>,
    /// The folder of results.
    pub out: PathBuf,
    /// The folder that spill and exchange files are put in (in a folder of their own, which goes with the run).
    pub spill_dir: PathBuf,
}

impl RunConfig {
    /// A run with everything at its default: 100 epochs, one or two workers in memory at a time, all cores.
    pub fn new(part_json: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        RunConfig {
            part_json: part_json.into(),
            keys: DataKeys::default(),
            normalize_features: Normalize::default(),
            task: Task::default(),
            class_weights: None,
            model: ModelConfig::default(),
            relations: None,
            policy: Policy::default(),
            mfg: false,
            one_shot: false,
            optimizer: OptimizerConfig::default(),
            schedule: Schedule::default(),
            clip_norm: None,
            patience: None,
            on_nan: OnNan::default(),
            checkpoint_every: None,
            epochs: 100,
            sampling: None,
            link: None,
            seed: 0,
            init_params: None,
            resident: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_budget: MemoryBudget::default(),
            spill_dtype: SpillDtype::default(),
            compute_dtype: ComputeDtype::default(),
            io: IoMode::default(),
            dump_step: None,
            out: out.into(),
            spill_dir: default_spill_dir(),
        }
    }

    /// How the model is trained.
    pub(crate) fn regime(&self) -> Regime {
        Regime {
            optimizer: self.optimizer,
            schedule: self.schedule,
            clip_norm: self.clip_norm,
            patience: self.patience,
        }
    }

    /// The configuration as it stands in a run's folder.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self)
            .map_err(|e| Error::Internal(format!("the configuration cannot be written: {e}")))
    }

    /// Reads what [`to_toml`](RunConfig::to_toml) wrote, in this version or an earlier one; `path` is where it stands.
    ///
    /// # Errors
    /// If it is something else.
    pub fn from_toml(path: &Path, text: &str) -> Result<Self> {
        toml::from_str(&with_gcn_norm(text))
            .map_err(|e| Error::input(path, "", format!("holds no configuration of a run: {e}")))
    }
}
