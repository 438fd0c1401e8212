//! Tensors in files written by `torch.save`: one, or a dictionary of them.

use super::array::ArrayRef;
use super::pickle_value::Value;
use super::torch_archive::TorchArchive;
use crate::words::error::Result;
use std::path::Path;

/// The tensors of a file by key; a single tensor has an empty key. Of a tuple, such as the pair of mappings that
/// `partition_graph(return_mapping=True)` returns, the first member is read.
pub(crate) fn open_saved_tensors(path: &Path) -> Result<Vec<(String, ArrayRef)>> {
    let archive = TorchArchive::open(path)?;
    let fail = |problem: &str| archive.file().fail("data.pkl", problem);
    let pickle = archive.pickle()?;
    let root = match pickle.root() {
        Value::Tuple(members) => members.first().map(|first| pickle.value(*first)),
        other => Some(other),
    };
    match root {
        Some(Value::Tensor(tensor)) => Ok(vec![(String::new(), archive.array("", tensor)?)]),
        Some(Value::Dict(entries)) => {
            let entries = entries.iter().map(|(key, value)| {
                match (pickle.value(*key), pickle.value(*value)) {
                    (Value::Text(key), Value::Tensor(tensor)) => {
                        Ok(((*key).to_owned(), archive.array(key, tensor)?))
                    }
                    _ => Err(fail("the dictionary holds more than tensors with names")),
                }
            });
            entries.collect()
        }
        _ => Err(fail("is neither a tensor nor a dictionary of tensors")),
    }
}
