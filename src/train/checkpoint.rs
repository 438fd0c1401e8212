//! Checkpoints: everything a training needs to go on as if it had not stopped.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::early_stopping::BestEpoch;
use crate::comm::{Hooks, ProcessGroup};
use crate::error::{Error, Result};
use crate::io::Dtype;
use crate::nn::{LearningRate, NodeEmbedding, SafetensorsFile, SharedArray, write_arrays};
use crate::spill::PointerTensor;

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
/// [`ParameterSet::flat`](crate::tape::ParameterSet::flat); and the same of learned rows, `embeds.<node type>.parameters` and so
/// on, as matrices of the rows of all ranks.
pub struct Checkpoint {
    /// The configuration of the run, as text.
    pub config: String,
    /// How far it has come.
    pub progress: Progress,
    file: SafetensorsFile,
}

/// A tensor that belongs to a checkpoint.
pub(super) struct State<'a> {
    pub(super) name: String,
    pub(super) value: PointerTensor,
    /// What it belongs to, if each rank has only the part of its own nodes.
    pub(super) rows: Option<&'a NodeEmbedding>,
}

impl Checkpoint {
    /// Writes a file, whole or not at all; all ranks call this. One collective if ranks have parts.
    pub(super) fn write(
        path: &Path,
        (config, progress): (String, Progress),
        states: &[State<'_>],
        ranks: (&dyn ProcessGroup, &dyn Hooks),
    ) -> Result<()> {
        let progress = serde_json::to_string(&progress)
            .map_err(|e| Error::Internal(format!("a checkpoint cannot be written: {e}")))?;
        let metadata = [(CONFIG.to_owned(), config), (PROGRESS.to_owned(), progress)].into();
        let array = |state: &'_ State<'_>| {
            let value = state.value.clone();
            SharedArray {
                name: state.name.clone(),
                dtype: Dtype::F32,
                shape: match state.rows {
                    Some(rows) => rows.shape().to_vec(),
                    None => value.size().iter().map(|side| *side as u64).collect(),
                },
                first_byte: state.rows.map(NodeEmbedding::first_byte),
                value: Box::new(move || Ok(value.pin()?.shallow_clone())),
            }
        };
        let arrays: Vec<_> = states.iter().map(array).collect();
        write_arrays(path, &arrays, &metadata, ranks)
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
        Ok(Checkpoint { config: file.text(CONFIG).to_owned(), progress, file })
    }

    /// A tensor's part of this size: all of it, or this rank's rows. `None` if there is no such tensor.
    ///
    /// # Errors
    /// If it is of another type or size.
    pub(super) fn tensor(
        &self,
        name: &str,
        size: &[i64],
        rows: Option<&NodeEmbedding>,
    ) -> Result<Option<Tensor>> {
        let Some(shape) = self.file.shape(name) else { return Ok(None) };
        let expected = match rows {
            Some(rows) => rows.shape().map(|side| side as i64).to_vec(),
            None => size.to_vec(),
        };
        if shape != expected {
            let problem = format!("{name} is of another size than the model's parameters");
            return Err(Error::config("--resume", problem)
                .with_hint("the graph or its features have changed; train anew"));
        }
        let value = match rows.map(NodeEmbedding::nodes) {
            Some(nodes) => self.file.read_rows(name, nodes.first, nodes.own as i64)?,
            None => self.file.read(name)?,
        };
        if value.kind() != Kind::Float {
            return Err(self.file.wrong(name, "is not of float32"));
        }
        Ok(Some(value.f_view(size)?))
    }
}
