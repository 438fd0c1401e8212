//! Arrays in a safetensors file that all ranks write together.

use std::collections::BTreeMap;
use std::path::Path;

use tch::Tensor;

use crate::comm::{Hooks, ProcessGroup, barrier};
use crate::error::Result;
use crate::io::{ArraySpec, ArraysFile, Dtype};
use crate::tensor;

/// An array, float32 or int64, of which each rank has all or a part.
pub(crate) struct SharedArray<'a> {
    /// Its key.
    pub(crate) name: String,
    /// Its element type.
    pub(crate) dtype: Dtype,
    /// Its dimensions.
    pub(crate) shape: Vec<u64>,
    /// Where this rank's part begins, in bytes; `None` if all ranks have all of it.
    pub(crate) first_byte: Option<u64>,
    /// Gives what this rank has, contiguous.
    pub(crate) value: Box<dyn Fn() -> Result<Tensor> + 'a>,
}

/// Writes a file of arrays, whole or not at all; all ranks call this with the same arrays. Rank 0 writes what all have. One
/// collective if there are arrays in parts.
pub(crate) fn write_arrays(
    path: &Path,
    arrays: &[SharedArray<'_>],
    metadata: &BTreeMap<String, String>,
    (group, hooks): (&dyn ProcessGroup, &dyn Hooks),
) -> Result<()> {
    let in_parts = arrays.iter().any(|array| array.first_byte.is_some());
    if group.rank() != 0 && !in_parts {
        return Ok(());
    }
    let specs = arrays.iter().map(|array| {
        let SharedArray { name, dtype, shape, .. } = array;
        ArraySpec { name, dtype: *dtype, shape }
    });
    let file = ArraysFile::open(path, specs.collect(), metadata)?;
    for SharedArray { name, first_byte, value, .. } in arrays {
        match first_byte {
            Some(first) => file.write(name, *first, tensor::bytes(&value()?))?,
            None if group.rank() == 0 => file.write(name, 0, tensor::bytes(&value()?))?,
            None => {}
        }
    }
    if in_parts {
        barrier(group, hooks)?;
    }
    if group.rank() == 0 { file.finish() } else { Ok(()) }
}
