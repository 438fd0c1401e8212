//! Weights to and from safetensors files under the keys of a PyTorch state dict.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use tch::{Kind, Tensor};

use super::model_config::ModelConfig;
use crate::error::{Error, Result};
use crate::io::AtomicFile;
use crate::tape::ParameterSet;
use crate::tensor;

/// The remedy for weights of another model.
const OTHER_MODEL: &str =
    "give the flags (--model, --layers, --hidden, ...) that the weights were made with";

/// Writes all parameters and buffers as float32, numbers of steps as int64. `metadata` goes into the file's header.
pub fn save_state_dict(
    path: &Path,
    parameters: &ParameterSet,
    metadata: BTreeMap<String, String>,
) -> Result<()> {
    let mut values = Vec::new();
    let flat = parameters.flat();
    let flat = flat.pin()?;
    for entry in parameters.state() {
        let kind = if entry.is_count { Kind::Int64 } else { Kind::Float };
        let value = parameters.part(&flat, entry)?.f_to_kind(kind)?.f_contiguous()?;
        values.push((entry.name.clone(), value));
    }
    save_tensors(path, &values, metadata)
}

/// Writes float32 and int64 tensors into a safetensors file.
pub(crate) fn save_tensors(
    path: &Path,
    values: &[(String, Tensor)],
    metadata: BTreeMap<String, String>,
) -> Result<()> {
    let views = values.iter().map(|(name, value)| {
        let shape = value.size().iter().map(|d| *d as usize).collect();
        let dtype = if value.kind() == Kind::Int64 { Dtype::I64 } else { Dtype::F32 };
        let view = TensorView::new(dtype, shape, tensor::bytes(value))
            .map_err(|e| Error::Internal(format!("{name} cannot be saved: {e}")))?;
        Ok((name.clone(), view))
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    let metadata = (!metadata.is_empty()).then(|| metadata.into_iter().collect());
    let bytes = safetensors::serialize(views, metadata)
        .map_err(|e| Error::Internal(format!("the state dict cannot be saved: {e}")))?;
    let output = AtomicFile::create(path)?;
    output.file().write_all(&bytes).map_err(|e| Error::io("write", path, e))?;
    output.commit()
}

/// Replaces parameters and buffers by those of a safetensors file. Any floating-point type is accepted.
///
/// # Errors
/// If a key is missing, or one is left over, or a shape differs: the message lists them.
pub fn load_state_dict(path: &Path, parameters: &ParameterSet) -> Result<()> {
    let bytes = std::fs::read(path).map_err(|e| Error::unreadable(path, &e))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| not_safetensors(path, &e))?;
    check_keys(path, &file, parameters)?;
    let flat = tensor::copy(&*parameters.flat().pin()?)?;
    for entry in parameters.state() {
        let name = &entry.name;
        let stored = file.tensor(name).map_err(|e| Error::input(path, name, e.to_string()))?;
        let value = to_tensor(path, name, &stored)?;
        if value.size() != entry.shape {
            let (found, expected) = (value.size(), &entry.shape);
            let problem = format!("has shape {found:?}, but the model has {expected:?}");
            return Err(Error::input(path, name, problem).with_hint(OTHER_MODEL));
        }
        parameters.part(&flat, entry)?.f_copy_(&value)?;
    }
    parameters.set_flat(flat)
}

/// The width of the last layer's output in a file of weights of this model.
///
/// # Errors
/// If the file cannot be read or has no such layer.
pub fn stored_out_feats(path: &Path, model: &ModelConfig) -> Result<i64> {
    let bytes = std::fs::read(path).map_err(|e| Error::unreadable(path, &e))?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| not_safetensors(path, &e))?;
    let (name, dimension) = model.output_parameter();
    let shape = header.info(&name).map(|info| info.shape.clone()).unwrap_or_default();
    shape.get(dimension).map(|width| *width as i64).ok_or_else(|| {
        Error::input(path, &name, "is missing, or has another shape").with_hint(OTHER_MODEL)
    })
}

fn not_safetensors(path: &Path, error: &SafeTensorError) -> Error {
    Error::input(path, "", format!("is not a safetensors file: {error}"))
}

fn check_keys(path: &Path, file: &SafeTensors<'_>, parameters: &ParameterSet) -> Result<()> {
    let expected: Vec<&str> = parameters.state().map(|entry| entry.name.as_str()).collect();
    let found = file.names();
    let missing: Vec<_> = expected.iter().filter(|e| !found.contains(e)).copied().collect();
    let unknown: Vec<_> = found.iter().filter(|f| !expected.contains(f)).copied().collect();
    if missing.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    let problem = format!(
        "does not hold this model's weights; missing: [{}]; not in the model: [{}]",
        missing.join(", "),
        unknown.join(", ")
    );
    Err(Error::input(path, "", problem).with_hint(OTHER_MODEL))
}

fn to_tensor(path: &Path, name: &str, stored: &TensorView<'_>) -> Result<Tensor> {
    let kind = match stored.dtype() {
        Dtype::F16 => Kind::Half,
        Dtype::BF16 => Kind::BFloat16,
        Dtype::F32 => Kind::Float,
        Dtype::F64 => Kind::Double,
        Dtype::I64 => Kind::Int64,
        other => {
            return Err(Error::input(
                path,
                name,
                format!("has type {other:?}, which is none of weights"),
            ));
        }
    };
    let shape: Vec<i64> = stored.shape().iter().map(|d| *d as i64).collect();
    let mut value = tensor::empty(&shape, kind)?;
    tensor::bytes_mut(&mut value).copy_from_slice(stored.data());
    Ok(value)
}
