//! The configuration of a training run.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::link_config::LinkConfig;
use super::memory_budget::MemoryBudget;
use super::old_config::with_gcn_norm;
use super::on_nan::OnNan;
use super::own_partitions::OwnPartitions;
use super::target_types::TargetTypes;
use crate::engine::spill::{ComputeDtype, SpillDtype};
use crate::engine::spill_dir::default_spill_dir;
use crate::engine::tape::{InitStyle, ParameterBuilder, Policy};
use crate::error::{Error, Result};
use crate::graph::PartitionBook;
use crate::io::IoMode;
use crate::load::{DataKeys, Normalize};
use crate::nn::{ClassWeights, ModelConfig, OptimizerConfig, RelationMerge, Schedule, Task};
use crate::train::{EvaluationConfig, Regime, SamplingConfig};

/// The structure of a model with a layer per edge type (`dgl.nn.HeteroGraphConv`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relations {
    /// How the results of several edge types for one node type are merged.
    pub merge: RelationMerge,
    /// The node types that are predicted; `None` means the one with labels.
    pub target: Option<TargetTypes>,
}

impl Relations {
    /// The node types that are predicted, ascending.
    ///
    /// # Errors
    /// If none are named, or the graph does not have them.
    pub(in crate::run) fn target_types(&self, book: &PartitionBook) -> Result<Vec<usize>> {
        let none = || Error::internal("the run names no node type".to_owned());
        self.target.as_ref().ok_or_else(none)?.ids(book)
    }

    /// Whether several node types are predicted.
    pub(crate) fn several_targets(&self) -> bool {
        self.target.as_ref().is_some_and(TargetTypes::are_several)
    }
}

/// Configuration of a training run. Two runs with the same configuration (except `resident`, `threads` and folders) give the
/// same weights, bit for bit, on the same machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// Path of the partition directory's JSON file; one worker runs per partition.
    pub part_json: PathBuf,
    /// Keys of the arrays in the partitions.
    pub keys: DataKeys,
    /// How features are normalised.
    pub normalize_features: Normalize,
    /// The task that the model learns.
    pub task: Task,
    /// Weights of classes in the loss; `None` means all 1.
    pub class_weights: Option<ClassWeights>,
    /// The model.
    pub model: ModelConfig,
    /// The structure of a model with a layer per edge type; `None` leaves the choice to the node types' features.
    pub relations: Option<Relations>,
    /// The policy for values inside layers between the forward and the backward pass.
    pub policy: Policy,
    /// Whether each layer is computed only for the nodes that labelled nodes need.
    pub mfg: bool,
    /// Whether an aggregation holds the rows of all other partitions in memory at once.
    pub one_shot: bool,
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// The schedule of the learning rate.
    pub schedule: Schedule,
    /// The largest norm of a gradient; larger gradients are scaled down.
    pub clip_norm: Option<f64>,
    /// Number of epochs without a better validation metric after which training stops.
    pub patience: Option<u32>,
    /// The evaluations of epochs, and the choice of the final weights.
    #[serde(default)]
    pub evaluation: EvaluationConfig,
    /// The reaction to a loss that is not finite.
    #[serde(default)]
    pub on_nan: OnNan,
    /// Number of epochs between checkpoints; `None` writes none.
    pub checkpoint_every: Option<u32>,
    /// Number of epochs.
    pub epochs: u32,
    /// Configuration of training on sampled neighbourhoods; `None` trains on the full graph.
    pub sampling: Option<SamplingConfig>,
    /// Configuration of predicting edges, in place of `task`.
    pub link: Option<LinkConfig>,
    /// Seed of initial values, dropout and samples.
    pub seed: u64,
    /// The library whose initial distributions the weights have.
    #[serde(default)]
    pub init: InitStyle,
    /// A safetensors file of initial values, in place of random ones.
    pub init_params: Option<PathBuf>,
    /// Number of workers that may be in memory at a time; `None` means two (on the full graph three of 8 or more) as soon as the
    /// memory budget allows it.
    pub resident: Option<usize>,
    /// Number of threads with which a resident worker computes.
    pub threads: usize,
    /// The memory that the run may take.
    pub memory_budget: MemoryBudget,
    /// The type in which rows that outlive an operation are held.
    pub spill_dtype: SpillDtype,
    /// The type that layers compute with.
    pub compute_dtype: ComputeDtype,
    /// How spill and exchange files without room in the page cache are written and read.
    pub io: IoMode,
    /// File for a training step's logits, loss and gradients; the run ends after that step, without an update.
    pub dump_step: Option<PathBuf>,
    /// The folder for TensorBoard's files; the run gets its own folder in it.
    #[serde(default)]
    pub tensorboard: Option<PathBuf>,
    /// The file for a trace of all ranks. It belongs to one process, so a run's folder does not record it.
    #[serde(skip)]
    pub trace: Option<PathBuf>,
    /// The partitions that this machine works on, of a run on several; `None`: those whose files it has, or an even part of all. A run's
    /// folder does not record them.
    #[serde(skip)]
    pub partitions: Option<OwnPartitions>,
    /// The folder of results.
    pub out: PathBuf,
    /// The folder for spill and exchange files, which get a subfolder that is removed with the run.
    pub spill_dir: PathBuf,
}

impl RunConfig {
    /// A run with defaults: 100 epochs, one or two workers in memory at a time, all cores.
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
            evaluation: EvaluationConfig::default(),
            on_nan: OnNan::default(),
            checkpoint_every: None,
            epochs: 100,
            sampling: None,
            link: None,
            seed: 0,
            init: InitStyle::default(),
            init_params: None,
            resident: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_budget: MemoryBudget::default(),
            spill_dtype: SpillDtype::default(),
            compute_dtype: ComputeDtype::default(),
            io: IoMode::default(),
            dump_step: None,
            tensorboard: None,
            trace: None,
            partitions: None,
            out: out.into(),
            spill_dir: default_spill_dir(),
        }
    }

    /// The training parameters of the configuration.
    pub(crate) fn regime(&self) -> Regime {
        Regime {
            optimizer: self.optimizer,
            schedule: self.schedule,
            clip_norm: self.clip_norm,
            patience: self.patience,
            evaluate_every: self.evaluation.every,
            keep: self.evaluation.keep,
        }
    }

    /// A collector of the model's parameters.
    pub(in crate::run) fn parameters(&self) -> ParameterBuilder {
        ParameterBuilder::new(self.seed).style(self.init)
    }

    /// The configuration as text, in the form in which a run's folder holds it.
    ///
    /// # Errors
    /// If a value has no place in TOML (`Internal`).
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self)
            .map_err(|e| Error::internal(format!("cannot encode the configuration: {e}")))
    }

    /// Parses the output of [`to_toml`](RunConfig::to_toml), of this version or an earlier one; errors name `path`.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn from_toml(path: &Path, text: &str) -> Result<Self> {
        toml::from_str(&with_gcn_norm(text))
            .map_err(|e| Error::input(path, "", format!("is not the configuration of a run: {e}")))
    }
}
