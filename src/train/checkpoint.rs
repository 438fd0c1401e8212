//! Checkpoints: everything a training needs to go on as if it had not stopped.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::early_stopping::BestEpoch;
use crate::error::{Error, Result};
use crate::nn::{LearningRate, save_tensors};
use crate::tensor;

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

/// A training after an epoch, as a safetensors file. Tensors are `float32`, laid out as
/// [`ParameterSet::flat`](crate::tape::ParameterSet::flat).
pub struct Checkpoint {
    /// The configuration of the run, as text.
    pub config: String,
    /// How far it has come.
    pub progress: Progress,
    /// `parameters`, and where there are such: `optimizer.first`, `optimizer.second`, `best.parameters`.
    pub tensors: BTreeMap<String, Tensor>,
}

impl Checkpoint {
    /// Writes the file, whole or not at all.
    pub fn write(self, path: &Path) -> Result<()> {
        let progress = serde_json::to_string(&self.progress)
            .map_err(|e| Error::Internal(format!("a checkpoint cannot be written: {e}")))?;
        let metadata = [(CONFIG.to_owned(), self.config), (PROGRESS.to_owned(), progress)];
        let tensors: Vec<_> = self.tensors.into_iter().collect();
        save_tensors(path, &tensors, metadata.into_iter().collect())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it is not there or is no checkpoint.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = read(path)?;
        let (config, progress) = header(path, &bytes)?;
        let file = SafeTensors::deserialize(&bytes).map_err(|e| no_checkpoint(path, &e))?;
        let tensors = file.iter().map(|(name, view)| {
            if view.dtype() != Dtype::F32 {
                return Err(Error::input(path, name, "is not of float32"));
            }
            let shape: Vec<i64> = view.shape().iter().map(|d| *d as i64).collect();
            let mut value = tensor::empty(&shape, Kind::Float)?;
            tensor::bytes_mut(&mut value).copy_from_slice(view.data());
            Ok((name.to_owned(), value))
        });
        Ok(Checkpoint { config, progress, tensors: tensors.collect::<Result<_>>()? })
    }

    /// Reads the configuration and how far the run has come; no tensors.
    ///
    /// # Errors
    /// As [`read`](Checkpoint::read).
    pub fn read_header(path: &Path) -> Result<(String, Progress)> {
        header(path, &read(path)?)
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| {
        Error::unreadable(path, &e).with_hint(
            "--resume takes the folder of a run that wrote a checkpoint (--checkpoint-every N)",
        )
    })
}

fn header(path: &Path, bytes: &[u8]) -> Result<(String, Progress)> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| no_checkpoint(path, &e))?;
    let texts = header.metadata().as_ref();
    let text = |key| texts.and_then(|texts| texts.get(key)).map_or("", String::as_str);
    let progress = serde_json::from_str(text(PROGRESS)).map_err(|e| no_checkpoint(path, &e))?;
    Ok((text(CONFIG).to_owned(), progress))
}

fn no_checkpoint(path: &Path, error: &dyn std::error::Error) -> Error {
    Error::input(path, "", format!("is not a checkpoint: {error}"))
}
