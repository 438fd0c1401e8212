//! Checkpoints: everything a training needs to go on as if it had not stopped.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::early_stopping::BestEpoch;
use crate::engine::comm::{Hooks, ProcessGroup};
use crate::error::{Error, Result};
use crate::graph::TypeNodes;
use crate::io::CHECKSUM;
use crate::nn::{LearningRate, SafetensorsFile, SharedArray, write_arrays};

const CONFIG: &str = "config";
const PROGRESS: &str = "progress";

/// How far a training has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Complete epochs.
    pub epoch: u32,
    /// Steps of the optimizer.
    pub optimizer_steps: i32,
    /// The learning rate with the state of its schedule.
    pub learning_rate: LearningRate,
    /// The best epoch so far, for early stopping.
    pub best: Option<BestEpoch>,
}

/// A training after an epoch, as a safetensors file. Tensors are `float32`: `parameters`, and where there are such
/// `optimizer.first`, `optimizer.second` and `best.parameters`, laid out as
/// [`ParameterSet::flat`](crate::engine::tape::ParameterSet::flat); and the same of learned rows, `embeds.<node type>.parameters` and so
/// on, as matrices of the rows of all ranks; of those that are trained on sampled neighbourhoods also the steps of each row,
/// `embeds.<node type>.optimizer.step`.
pub struct Checkpoint {
    /// The configuration of the run, as text.
    pub config: String,
    /// How far it has come.
    pub progress: Progress,
    path: PathBuf,
    file: SafetensorsFile,
    /// The tensors that were read.
    read: RefCell<BTreeSet<String>>,
}

/// A rank's part of a matrix with a row per node of a type.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) nodes: TypeNodes,
    pub(super) width: i64,
}

impl Part {
    /// Rows and columns over all ranks.
    pub(super) fn shape(self) -> [u64; 2] {
        [self.nodes.total, self.width as u64]
    }

    /// Where it begins, in float32.
    pub(super) fn first_byte(self) -> u64 {
        self.nodes.first * self.width as u64 * size_of::<f32>() as u64
    }
}

impl Checkpoint {
    /// Writes a file, whole or not at all; all ranks call this. One collective if ranks have parts.
    pub(super) fn write(
        path: &Path,
        (config, progress): (String, Progress),
        arrays: &[SharedArray<'_>],
        ranks: (&dyn ProcessGroup, &dyn Hooks),
    ) -> Result<()> {
        let progress = serde_json::to_string(&progress)
            .map_err(|e| Error::Internal(format!("a checkpoint cannot be written: {e}")))?;
        let metadata = [(CONFIG.to_owned(), config), (PROGRESS.to_owned(), progress)].into();
        write_arrays(path, arrays, &metadata, ranks)
    }

    /// Opens a file. Tensors are read when they are asked for.
    ///
    /// # Errors
    /// If it is not there or is no checkpoint.
    pub fn open(path: &Path) -> Result<Self> {
        let file = SafetensorsFile::open(path, "a checkpoint").map_err(|e| {
            e.with_hint(
                "--resume takes the folder of a run that wrote a checkpoint (--checkpoint-every N)",
            )
        })?;
        let progress = serde_json::from_str(file.text(PROGRESS))
            .map_err(|e| Error::input(path, "", format!("is not a checkpoint: {e}")))?;
        let (config, path) = (file.text(CONFIG).to_owned(), path.to_owned());
        Ok(Checkpoint { config, progress, path, file, read: RefCell::default() })
    }

    /// Compares the whole file with its checksum, before anything of it is used. `false` if it has none, as those of earlier versions.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn verify(&self) -> Result<bool> {
        let verified = self.file.verify()?;
        // Earlier versions wrote two texts.
        if !verified && self.file.text_keys().any(|key| key != CONFIG && key != PROGRESS) {
            let problem = format!("is damaged: its header has unknown texts, and no {CHECKSUM}");
            return Err(Error::input(&self.path, "", problem));
        }
        Ok(verified)
    }

    /// A tensor's part of this size: all of it, or this rank's rows.
    ///
    /// # Errors
    /// If there is no such tensor, or it is of another type or size.
    pub(super) fn tensor(&self, name: &str, size: &[i64], part: Option<Part>) -> Result<Tensor> {
        let missing = || self.file.wrong(name, "is missing, but the run needs it to go on");
        let shape = self.file.shape(name).ok_or_else(missing)?;
        self.read.borrow_mut().insert(name.to_owned());
        let expected = match part {
            Some(part) => part.shape().map(|side| side as i64).to_vec(),
            None => size.to_vec(),
        };
        if shape != expected {
            let problem = format!("{name} is of another size than the model's parameters");
            return Err(Error::config("--resume", problem)
                .with_hint("the graph or its features have changed; train anew"));
        }
        let value = match part.map(|part| part.nodes) {
            Some(nodes) => self.file.read_rows(name, nodes.first, nodes.own as i64)?,
            None => self.file.read(name)?,
        };
        if value.kind() != Kind::Float {
            return Err(self.file.wrong(name, "is not of float32"));
        }
        Ok(value.f_view(size)?)
    }

    /// Checks that every tensor was read.
    ///
    /// # Errors
    /// If there is one that the run has no use for.
    pub(super) fn check_all_read(&self) -> Result<()> {
        let read = self.read.borrow();
        match self.file.names().iter().find(|name| !read.contains(*name)) {
            Some(name) => Err(self.file.wrong(name, "is nothing that the run has")),
            None => Ok(()),
        }
    }
}
