//! Checkpoints of a job.

use std::collections::BTreeMap;
use std::path::Path;

use tch::{Kind, Tensor};

use crate::engine::comm::{ProcessGroup, Ranks};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::{Entry, ParameterSet};
use crate::engine::tensor;
use crate::io::{CHECKSUM, Dtype};
use crate::nn::{Optimizer, OptimizerState, SafetensorsFile, SharedArray, write_arrays};
use crate::words::error::Result;

const EPOCH: &str = "epoch";
const STEP: &str = "optimizer_steps";
const TEXT: &str = "text";
const MODEL: &str = "model";
const PARAMETERS: &str = "parameters";
const FIRST: &str = "optimizer.first";
const SECOND: &str = "optimizer.second";

/// The state of a training loop after an epoch, which is the same on all ranks.
pub struct SavedState<'a> {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// The model's parameters.
    pub parameters: &'a ParameterSet,
    /// The optimizer.
    pub optimizer: &'a Optimizer,
    /// Anything else that the loop needs to resume, such as the best epoch so far.
    pub text: &'a str,
}

/// State of a resumed training loop, other than the parameters and the optimizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredState {
    /// The last complete epoch.
    pub epoch: u32,
    /// The saved text.
    pub text: String,
}

impl SavedState<'_> {
    /// Atomically writes a safetensors file with a checksum, on rank 0.
    pub(super) fn write(
        &self,
        path: &Path,
        group: &dyn ProcessGroup,
        manager: &PartitionDataManager,
    ) -> Result<()> {
        let OptimizerState { step, first, second } = self.optimizer.state();
        let values = [(PARAMETERS, Some(self.parameters.flat())), (FIRST, first), (SECOND, second)];
        let arrays = values.into_iter().filter_map(|(name, value)| Some(array(name, value?)));
        let texts = [
            (EPOCH, self.epoch.to_string()),
            (STEP, step.to_string()),
            (TEXT, self.text.to_owned()),
            (MODEL, entries(self.parameters)),
        ];
        let texts: BTreeMap<String, String> =
            texts.into_iter().map(|(key, text)| (key.to_owned(), text)).collect();
        write_arrays(path, &arrays.collect::<Vec<_>>(), &texts, Ranks { group, hooks: manager })
    }
}

fn array<'v>(name: &str, value: PointerTensor) -> SharedArray<'v> {
    SharedArray {
        name: name.to_owned(),
        dtype: if value.kind() == Kind::Double { Dtype::F64 } else { Dtype::F32 },
        shape: value.size().iter().map(|side| *side as u64).collect(),
        first_byte: None,
        value: Box::new(move || tensor::copy(&*value.pin()?)),
    }
}

/// A line for each parameter and buffer: its name and shape.
fn entries(parameters: &ParameterSet) -> String {
    let line = |entry: &Entry| format!("{} {:?}", entry.name, entry.shape);
    parameters.state().map(line).collect::<Vec<_>>().join("\n")
}

impl RestoredState {
    /// The epoch and the checksum of a file, after verifying the file.
    pub(super) fn verify(path: &Path) -> Result<(u32, String)> {
        let file = SafetensorsFile::open(path, "the saved state of a job")?;
        if !file.verify()? {
            return Err(file.wrong("", "has no checksum, so it is not the saved state of a job"));
        }
        Ok((number(&file, EPOCH)?, file.text(CHECKSUM).to_owned()))
    }

    /// Loads parameters and optimizer from a file.
    pub(super) fn read(
        path: &Path,
        parameters: &ParameterSet,
        optimizer: &mut Optimizer,
        manager: &std::rc::Rc<PartitionDataManager>,
    ) -> Result<Self> {
        let file = SafetensorsFile::open(path, "the saved state of a job")?;
        check_model(&file, parameters)?;
        let size = parameters.flat().size().to_vec();
        let read = |name: &str| -> Result<Tensor> {
            let value = file.read(name)?;
            if value.size() != size {
                let problem = format!("has shape {:?}; the model's is {size:?}", value.size());
                return Err(file.wrong(name, problem).with_hint(CHANGED));
            }
            if value.kind() != parameters.kind() {
                let problem =
                    format!("has type {:?}; the model's is {:?}", value.kind(), parameters.kind());
                return Err(file.wrong(name, problem));
            }
            Ok(value)
        };
        parameters.set_flat(read(PARAMETERS)?)?;
        let names = file.names();
        let moment = |name: &str| -> Result<Option<PointerTensor>> {
            let there = names.iter().any(|known| known == name);
            there.then(|| Ok(manager.track(name, read(name)?))).transpose()
        };
        let step = number(&file, STEP)? as i32;
        let (first, second) = (moment(FIRST)?, moment(SECOND)?);
        let config = optimizer.config();
        let expected = (config.has_first(), config.has_second());
        if step > 0 && (first.is_some(), second.is_some()) != expected {
            return Err(file.wrong("", "is the state of another optimizer").with_hint(CHANGED));
        }
        optimizer.set_state(OptimizerState { step, first, second });
        Ok(RestoredState { epoch: number(&file, EPOCH)?, text: file.text(TEXT).to_owned() })
    }
}

/// The remedy for a state of another model.
const CHANGED: &str =
    "the model, its optimizer or the graph has changed: start again in another folder";

/// Compares parameters with those of the state, which earlier versions did not describe.
fn check_model(file: &SafetensorsFile, parameters: &ParameterSet) -> Result<()> {
    let (saved, own) = (file.text(MODEL), entries(parameters));
    if saved.is_empty() || saved == own {
        return Ok(());
    }
    let only = |these: &str, others: &str| {
        let line = these.lines().find(|line| others.lines().all(|other| other != *line));
        line.map(str::to_owned)
    };
    let problem = match (only(saved, &own), only(&own, saved)) {
        (Some(line), _) => format!("has {line}, which the model does not have"),
        (None, Some(line)) => format!("lacks {line}, which the model has"),
        (None, None) => "has the parameters in another order than the model".to_owned(),
    };
    Err(file.wrong("", problem).with_hint(CHANGED))
}

fn number(file: &SafetensorsFile, key: &str) -> Result<u32> {
    let text = file.text(key);
    text.parse().map_err(|_| file.wrong("", format!("has no {key} in its header: `{text}`")))
}
