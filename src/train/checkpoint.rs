//! Checkpoints: everything that training needs in order to continue as if uninterrupted.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use crate::engine::comm::Ranks;
use crate::graph::TypeNodes;
use crate::io::CHECKSUM;
use crate::load::GraphFingerprint;
use crate::nn::{LearningRate, SafetensorsFile, SharedArray, write_arrays};
use crate::words::error::{Error, Result};

const CONFIG: &str = "config";
const PROGRESS: &str = "progress";
const GRAPH: &str = "graph";
const OUTPUTS: &str = "outputs";

/// The progress of training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Number of complete epochs.
    pub epoch: u32,
    /// Number of optimizer steps.
    pub optimizer_steps: i32,
    /// The learning rate with the state of its schedule.
    pub learning_rate: LearningRate,
    /// The best epoch so far, for early stopping.
    pub best: Option<BestEpoch>,
}

/// The best epoch so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BestEpoch {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// Validation score of the epoch.
    pub score: f64,
}

/// The state after an epoch. Its arrays are handles to values that later epochs replace without changing them.
pub struct KeptState<'a> {
    pub(super) progress: Progress,
    pub(super) arrays: Vec<SharedArray<'a>>,
    pub(super) ranks: Ranks<'a>,
    /// Graph that checkpoints name.
    pub(super) graph: Option<GraphFingerprint>,
    /// Number of the model's outputs by predicted node type.
    pub(super) outputs: Vec<i64>,
}

/// State of training after an epoch, as a safetensors file. Tensors are `float32`: `parameters` and, if they exist,
/// `optimizer.first`, `optimizer.second` and `best.parameters`, laid out as
/// [`ParameterSet::flat`](crate::engine::tape::ParameterSet::flat). For learned rows, the same tensors exist as
/// `embeds.<node type>.parameters` and so on, as matrices with the rows of all ranks; rows trained on samples also have
/// a number of steps per row, `embeds.<node type>.optimizer.step`.
pub struct Checkpoint {
    /// Configuration of the run, as text.
    pub config: String,
    /// The progress of the run.
    pub progress: Progress,
    /// Graph of the run; missing in files of earlier versions.
    pub graph: Option<GraphFingerprint>,
    /// Number of the model's outputs by predicted node type; empty for links, and in files of earlier versions.
    pub outputs: Vec<i64>,
    path: PathBuf,
    file: SafetensorsFile,
    /// Names of the tensors that were read.
    read: RefCell<BTreeSet<String>>,
}

/// A rank's part of a matrix with one row per node of a type.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) nodes: TypeNodes,
    pub(super) width: i64,
}

impl Part {
    /// `[rows, columns]` over all ranks.
    pub(super) fn shape(self) -> [u64; 2] {
        [self.nodes.total, self.width as u64]
    }

    /// Offset of the part in bytes, as float32.
    pub(super) fn first_byte(self) -> u64 {
        self.nodes.first * self.width as u64 * size_of::<f32>() as u64
    }
}

impl KeptState<'_> {
    /// The epoch.
    pub fn epoch(&self) -> u32 {
        self.progress.epoch
    }

    /// Writes everything that is needed to continue from this state, with `config`. With learned rows, all ranks call
    /// this (one collective); otherwise only rank 0 writes.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`), a value cannot be read back, or the collective fails.
    pub fn write(&self, path: &Path, config: String) -> Result<()> {
        let KeptState { progress, arrays, ranks, graph, outputs } = self;
        let not_encoded = |e| Error::internal(format!("cannot encode a checkpoint: {e}"));
        let progress = serde_json::to_string(progress).map_err(not_encoded)?;
        let mut metadata =
            BTreeMap::from([(CONFIG.to_owned(), config), (PROGRESS.to_owned(), progress)]);
        if !outputs.is_empty() {
            let outputs = serde_json::to_string(outputs).map_err(not_encoded)?;
            metadata.insert(OUTPUTS.to_owned(), outputs);
        }
        if let Some(graph) = graph {
            let graph = serde_json::to_string(graph).map_err(not_encoded)?;
            metadata.insert(GRAPH.to_owned(), graph);
        }
        write_arrays(path, arrays, &metadata, *ranks)
    }
}

impl Checkpoint {
    /// Opens a file. Tensors are read on request.
    ///
    /// # Errors
    /// If it does not exist or is not a checkpoint.
    pub fn open(path: &Path) -> Result<Self> {
        let file = SafetensorsFile::open(path, "a checkpoint").map_err(|e| {
            e.with_hint(
                "‹resume› takes the folder of a run that wrote a checkpoint (‹checkpoint_every=N›)",
            )
        })?;
        let other = |e| Error::input(path, "", format!("is not a checkpoint: {e}"));
        let progress = serde_json::from_str(file.text(PROGRESS)).map_err(other)?;
        let graph = Some(file.text(GRAPH)).filter(|text| !text.is_empty());
        let graph = graph.map(serde_json::from_str).transpose().map_err(other)?;
        let outputs = Some(file.text(OUTPUTS)).filter(|text| !text.is_empty());
        let outputs = outputs.map(serde_json::from_str).transpose().map_err(other)?;
        let outputs = outputs.unwrap_or_default();
        let (config, path) = (file.text(CONFIG).to_owned(), path.to_owned());
        Ok(Checkpoint { config, progress, graph, outputs, path, file, read: RefCell::default() })
    }

    /// Compares the whole file with its checksum, before its content is used. Returns `false` if there is no checksum,
    /// as in files of earlier versions.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn verify(&self) -> Result<bool> {
        let verified = self.file.verify()?;
        // Earlier versions wrote only these two texts.
        if !verified && self.file.text_keys().any(|key| key != CONFIG && key != PROGRESS) {
            let problem = format!("is damaged: its header has unknown texts, and no {CHECKSUM}");
            return Err(Error::input(&self.path, "", problem));
        }
        Ok(verified)
    }

    /// The checksum in the file; empty if there is none.
    pub fn checksum(&self) -> &str {
        self.file.text(CHECKSUM)
    }

    /// A rank's part of a tensor, with this size: all of it, or this rank's rows.
    pub(super) fn tensor(&self, name: &str, size: &[i64], part: Option<Part>) -> Result<Tensor> {
        let missing = || self.file.wrong(name, "is missing, but the run needs it to continue");
        let shape = self.file.shape(name).ok_or_else(missing)?;
        self.read.borrow_mut().insert(name.to_owned());
        let expected = match part {
            Some(part) => part.shape().map(|side| side as i64).to_vec(),
            None => size.to_vec(),
        };
        if shape != expected {
            let problem = format!("{name} has another size than the model's parameters");
            return Err(Error::config("resume", problem)
                .with_hint("the graph or its features have changed; start a new run"));
        }
        let value = match part.map(|part| part.nodes) {
            Some(nodes) => self.file.read_rows(name, nodes.first, nodes.own as i64)?,
            None => self.file.read(name)?,
        };
        if value.kind() != Kind::Float {
            return Err(self.file.wrong(name, "is not float32"));
        }
        Ok(value.f_view(size)?)
    }

    /// Checks that every tensor has been read.
    pub(super) fn check_all_read(&self) -> Result<()> {
        let read = self.read.borrow();
        match self.file.names().iter().find(|name| !read.contains(*name)) {
            Some(name) => Err(self.file.wrong(name, "does not belong to this run")),
            None => Ok(()),
        }
    }
}
