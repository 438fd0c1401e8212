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
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::PartitionBook;
use crate::io::IoMode;
use crate::load::{DataKeys, Normalize};
use crate::nn::{ClassWeights, ModelConfig, OptimizerConfig, RelationMerge, Schedule, Task};
use crate::train::{EvaluationConfig, Regime, SamplingConfig};
use crate::words::error::{Error, Result};

/// The structure of a model with a layer per edge type (`dgl.nn.HeteroGraphConv`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relations {
    /// How the results of several edge types for one node type are merged.
    pub merge: RelationMerge,
    /// Predicted node types; `None` means the type that has labels.
    pub target: Option<TargetTypes>,
}

impl Relations {
    /// Ids of the predicted node types, ascending.
    pub(in crate::run) fn target_types(&self, book: &PartitionBook) -> Result<Vec<usize>> {
        let none = || Error::internal("the run names no node type");
        self.target.as_ref().ok_or_else(none)?.ids(book)
    }

    /// Whether several node types are predicted.
    pub(crate) fn several_targets(&self) -> bool {
        self.target.as_ref().is_some_and(TargetTypes::are_several)
    }
}

/// Configuration of a training run. Runs that differ only in `resident`, `threads` and folders produce the same
/// weights, bit for bit, on the same machine. [`new`](RunConfig::new) makes one that can run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// Structure of a model with a layer per edge type; `None` lets the node types' features decide.
    pub relations: Option<Relations>,
    /// The policy for values inside layers between the forward and the backward pass.
    pub policy: Policy,
    /// Whether each layer is computed only for the nodes that labelled nodes depend on (message flow graphs).
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
    /// Number of epochs between checkpoints; `None` writes one every ten minutes, or more often with learned rows.
    pub checkpoint_every: Option<u32>,
    /// Number of epochs.
    pub epochs: u32,
    /// Configuration of training on sampled neighbourhoods; `None` trains on the full graph.
    pub sampling: Option<SamplingConfig>,
    /// Configuration of link prediction, which replaces `task`.
    pub link: Option<LinkConfig>,
    /// Seed of initial values, dropout and samples.
    pub seed: u64,
    /// The library whose initial distributions are used for weights.
    #[serde(default)]
    pub init: InitStyle,
    /// A safetensors file of initial values, instead of random ones.
    pub init_params: Option<PathBuf>,
    /// Number of workers that may be in memory at a time; `None` means two (in full-graph training with 8 or more
    /// workers, three) if the memory budget allows it.
    pub resident: Option<usize>,
    /// Number of threads per resident worker.
    pub threads: usize,
    /// Limit for the memory of all processes of the run together.
    pub memory_budget: MemoryBudget,
    /// Element type of rows that outlive an operation.
    pub spill_dtype: SpillDtype,
    /// Element type of computations in layers.
    pub compute_dtype: ComputeDtype,
    /// How spill and exchange files are written and read when the page cache has no room for them.
    pub io: IoMode,
    /// File for one training step's logits, loss and gradients. The run ends after that step, without an update.
    pub dump_step: Option<PathBuf>,
    /// Folder for TensorBoard's files, in which the run creates its own folder.
    #[serde(default)]
    pub tensorboard: Option<PathBuf>,
    /// File for a trace of all ranks. It is not recorded in the run's folder.
    #[serde(skip)]
    pub trace: Option<PathBuf>,
    /// Partitions of this machine, in a run on several; `None` means those whose files it has, or an even share if it
    /// has all. They are not recorded in the run's folder.
    #[serde(skip)]
    pub partitions: Option<OwnPartitions>,
    /// The folder of results.
    pub out: PathBuf,
    /// Folder for spill and exchange files. The run creates its own folder in it and removes it at its end.
    pub spill_dir: PathBuf,
}

impl RunConfig {
    /// A run with defaults: 100 epochs, one or two workers in memory at a time, all cores.
    pub fn new(part_json: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        RunConfig {
            part_json: part_json.into(),
            epochs: 100,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            out: out.into(),
            spill_dir: default_spill_dir(),
            ..RunConfig::default()
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

    /// Whether ranks with partitions of one size grow alike in a step: all nodes are computed, by the same layers.
    pub(in crate::run) fn grows_alike(&self) -> bool {
        self.sampling.is_none() && self.relations.is_none() && !self.mfg
    }

    /// Opens the graph. If it is gone, the hint says how to name the place to which it was moved.
    pub(in crate::run) fn open_graph(&self) -> Result<PartitionConfig> {
        PartitionConfig::open(&self.part_json).map_err(|error| {
            if self.part_json.exists() {
                return error;
            }
            error.with_hint("if the graph has moved, name its JSON file with ‹part_json=FILE›")
        })
    }

    /// A collector of the model's parameters.
    pub(in crate::run) fn parameters(&self) -> ParameterBuilder {
        ParameterBuilder::new(self.seed).style(self.init)
    }

    /// The configuration as TOML text, as stored in the run's folder.
    ///
    /// # Errors
    /// If a value cannot be written in TOML (`Internal`).
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self)
            .map_err(|e| Error::internal(format!("cannot encode the configuration: {e}")))
    }

    /// Parses the output of [`to_toml`](RunConfig::to_toml), of this version or an earlier one; errors name `path`.
    ///
    /// # Errors
    /// If the text is not a configuration.
    pub fn from_toml(path: &Path, text: &str) -> Result<Self> {
        let text = with_gcn_norm(text);
        toml::from_str(&text).map_err(|e| {
            let problem = toml_problem(&text, &e);
            Error::input(path, "", format!("is not the configuration of a run: {problem}"))
        })
    }
}

/// The mistake in a TOML text and its line, counted from 1.
pub(crate) fn toml_problem(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message,
    }
}
