//! Weights to and from safetensors files under the keys of a PyTorch state dict.

use std::collections::BTreeMap;
use std::path::Path;

use tch::{Kind, Tensor};

use super::safetensors_file::SafetensorsFile;
use super::shared_arrays::{SharedArray, write_arrays};
use crate::engine::comm::Ranks;
use crate::engine::tape::{Entry, ParameterSet};
use crate::engine::tensor;
use crate::io::Dtype;
use crate::nn::learned_rows::LearnedRows;
use crate::nn::models::model_config::{ModelConfig, OutputSide};
use crate::words::error::{Error, Result};

/// The remedy for weights of another model.
const OTHER_MODEL: &str = "pass the options (‹model.kind›, ‹model.layers›, ‹model.hidden›, ...) with which the weights were \
     trained; weights of a module of PyG go through Python: sar_single.train(..., init_params=MODULE)";
/// Largest number of a file's keys that a message lists.
const LISTED: usize = 8;

/// Writes all parameters and buffers as float32, numbers of steps as int64, and the learned rows of all ranks. All
/// ranks call this; rank 0 writes the parameters, each rank its own rows. One collective if there are learned rows.
/// `metadata` goes into the file's header.
///
/// # Errors
/// If the file cannot be written (`Io`, `OutOfDisk`), a value cannot be read back, or the collective fails.
pub fn save_state_dict(
    path: &Path,
    parameters: &ParameterSet,
    learned: &[&dyn LearnedRows],
    metadata: &BTreeMap<String, String>,
    ranks: Ranks<'_>,
) -> Result<()> {
    let of_parameter = |entry: &Entry| {
        let kind = if entry.is_count { Kind::Int64 } else { Kind::Float };
        let dtype = if entry.is_count { Dtype::I64 } else { Dtype::F32 };
        let shape = entry.shape.iter().map(|side| *side as u64).collect();
        let entry = entry.clone();
        let name = entry.name.clone();
        let value = move || {
            let flat = parameters.flat();
            let flat = flat.pin()?;
            Ok(parameters.part(&flat, &entry)?.f_to_kind(kind)?.f_contiguous()?)
        };
        SharedArray { name, dtype, shape, first_byte: None, value: Box::new(value) }
    };
    let of_rows = learned.iter().copied().map(|rows| SharedArray {
        name: rows.key().to_owned(),
        dtype: Dtype::F32,
        shape: rows.shape().to_vec(),
        first_byte: Some(rows.first_byte()),
        value: Box::new(|| Ok(rows.rows()?.f_to_kind(Kind::Float)?.f_contiguous()?)),
    });
    let arrays: Vec<_> = parameters.state().map(of_parameter).chain(of_rows).collect();
    write_arrays(path, &arrays, metadata, ranks)
}

/// Loads parameters, buffers and this rank's learned rows from a safetensors file, in any floating-point type. Keys may
/// have the canonical edge type in place of a relation, as DGL's `HeteroGraphConv` names layers that it was given so:
/// `mods.('user', 'buys', 'item').weight` for `mods.buys.weight`.
///
/// # Errors
/// If keys are missing or left over, or shapes differ: the message lists them. If a weight is not finite.
pub fn load_state_dict(
    path: &Path,
    parameters: &ParameterSet,
    learned: &[&dyn LearnedRows],
) -> Result<()> {
    let file = open(path)?;
    let names = stored_names(&file, parameters, learned)?;
    let flat = tensor::copy(&*parameters.flat().pin()?)?;
    for (entry, name) in parameters.state().zip(&names) {
        check_shape(&file, name, &entry.shape)?;
        let value = file.read(name)?;
        check_finite(&file, name, 0, &value)?;
        parameters.part(&flat, entry)?.f_copy_(&value)?;
    }
    parameters.set_flat(flat)?;
    learned.iter().try_for_each(|rows| load_rows(&file, *rows))
}

/// A text from the header of a weights file; "" if it is missing.
///
/// # Errors
/// If the file cannot be read or is not a safetensors file.
pub fn state_dict_text(path: &Path, key: &str) -> Result<String> {
    Ok(open(path)?.text(key).to_owned())
}

/// Compares a weights file with its checksum. Returns `false` for a file without one, from an earlier version or
/// another program.
///
/// # Errors
/// If the file is damaged, cannot be read or is not a safetensors file.
pub fn verify_state_dict(path: &Path) -> Result<bool> {
    open(path)?.verify()
}

/// Loads this rank's learned rows from a file.
pub(in crate::nn) fn load_rows(file: &SafetensorsFile, learned: &dyn LearnedRows) -> Result<()> {
    check_shape(file, learned.key(), &learned.shape().map(|side| side as i64))?;
    let first = learned.nodes().first;
    let rows = file.read_rows(learned.key(), first, learned.nodes().own as i64)?;
    check_finite(file, learned.key(), first * learned.width() as u64, &rows)?;
    learned.set_rows(&rows)
}

/// Opens a weights file.
pub(in crate::nn) fn open(path: &Path) -> Result<SafetensorsFile> {
    SafetensorsFile::open(path, "a safetensors file")
}

/// Output width of the last layer, read from a weights file of this model.
///
/// # Errors
/// If the file cannot be read or does not have the layer.
pub fn stored_out_feats(path: &Path, model: &ModelConfig) -> Result<i64> {
    let OutputSide { key, side } = model.output_side();
    stored_width(path, &key, side)
}

/// Size of one dimension of a parameter in a weights file.
pub(in crate::nn) fn stored_width(path: &Path, key: &str, side: usize) -> Result<i64> {
    let file = open(path)?;
    let names = file.names();
    let Some(name) = stored_name(&names, key) else { return Err(missing(&file, &names, key)) };
    let shape = file.shape(name).unwrap_or_default();
    shape.get(side).copied().ok_or_else(|| {
        let problem = format!("has shape {shape:?}, which is not that of the model");
        file.wrong(name, problem).with_hint(OTHER_MODEL)
    })
}

/// The error of a file without a key, which lists the keys that the file has.
fn missing(file: &SafetensorsFile, names: &[String], key: &str) -> Error {
    let shown = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if names.len() > LISTED { ", ..." } else { "" };
    let error = file.wrong(key, format!("is missing; keys in the file: [{shown}{more}]"));
    let prefix = names.iter().find_map(|name| name.strip_suffix(key));
    let prefix = prefix.filter(|prefix| names.iter().all(|name| name.starts_with(prefix)));
    match prefix {
        Some(prefix) => {
            error.with_hint(format!("remove {prefix:?} from the beginning of each key"))
        }
        None => error.with_hint(OTHER_MODEL),
    }
}

/// Names of all parameters and learned rows in the file. Returns an error if names are missing or left over.
fn stored_names(
    file: &SafetensorsFile,
    parameters: &ParameterSet,
    learned: &[&dyn LearnedRows],
) -> Result<Vec<String>> {
    let expected = parameters.state().map(|entry| entry.name.as_str());
    let expected: Vec<&str> = expected.chain(learned.iter().map(|rows| rows.key())).collect();
    let found = file.names();
    let (mut stored, mut missing) = (Vec::new(), Vec::new());
    for key in expected {
        match stored_name(&found, key) {
            Some(name) => stored.push(name.to_owned()),
            None => missing.push(key),
        }
    }
    let unknown: Vec<_> =
        found.iter().filter(|f| !stored.contains(f)).map(String::as_str).collect();
    if missing.is_empty() && unknown.is_empty() {
        return Ok(stored);
    }
    let problem = format!(
        "does not hold this model's weights; missing: [{}]; not in the model: [{}]",
        missing.join(", "),
        unknown.join(", ")
    );
    Err(file.wrong("", problem).with_hint(OTHER_MODEL))
}

/// The name that stands for a key: the key itself, or the key with a canonical edge type in place of the relation.
fn stored_name<'n>(names: &'n [String], key: &str) -> Option<&'n str> {
    let same = names.iter().find(|name| *name == key);
    let canonical = || names.iter().find(|name| by_relation(name).as_deref() == Some(key));
    same.or_else(canonical).map(String::as_str)
}

/// A name with the relation in place of a canonical edge type; `None` for names without one.
fn by_relation(name: &str) -> Option<String> {
    let (before, rest) = name.split_once(".('")?;
    let (etype, after) = rest.split_once("').")?;
    let parts: Vec<&str> = etype.split("', '").collect();
    let [_, relation, _] = parts[..] else { return None };
    Some(format!("{before}.{relation}.{after}"))
}

/// Checks that weights are finite, because NaN or infinity makes every prediction useless. `first` is the file's index
/// of the first element.
fn check_finite(file: &SafetensorsFile, name: &str, first: u64, value: &Tensor) -> Result<()> {
    let value = value.f_to_kind(Kind::Float)?.f_contiguous()?;
    let Some(at) = tensor::first_not_finite(&value) else { return Ok(()) };
    let (index, bad) = (first + at as u64, tensor::slice::<f32>(&value)[at]);
    let problem = format!("element {index} is {bad}, which is not a finite number");
    Err(file.wrong(name, problem).with_hint("use weights of a training run that did not diverge"))
}

fn check_shape(file: &SafetensorsFile, name: &str, expected: &[i64]) -> Result<()> {
    let found = file.shape(name).ok_or_else(|| file.wrong(name, "is missing"))?;
    if found == expected {
        return Ok(());
    }
    let problem = format!("has shape {found:?}, but the model has {expected:?}");
    Err(file.wrong(name, problem).with_hint(OTHER_MODEL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_may_be_stored_by_its_canonical_edge_type() {
        let names = ["c.mods.('a', 'r', 'b').w", "c.mods.('c', 'r', 'd').w", "c.mods.q.w"];
        let names = names.map(str::to_owned);
        for (key, name) in [
            ("c.mods.r.w", Some(0)),
            ("c.mods.('c', 'r', 'd').w", Some(1)),
            ("c.mods.q.w", Some(2)),
            ("c.mods.r.b", None),
        ] {
            assert_eq!(stored_name(&names, key), name.map(|i: usize| &*names[i]), "{key}");
        }
    }
}
