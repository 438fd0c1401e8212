//! Arrays in a safetensors file that all ranks write together.

use std::collections::BTreeMap;
use std::path::Path;

use tch::Tensor;

use crate::engine::comm::{
    Hooks, ProcessGroup, Ranks, Recipient, all_gather, bring_together, is_first_here,
    spans_machines,
};
use crate::engine::tensor;
use crate::io::{ArraySpec, ArraysFile, CHECKSUM, Dtype, FilePart, NO_CHECKSUM, RowFile};
use crate::words::error::Result;

/// An array, float32 or int64, that each rank has entirely or in part.
pub(crate) struct SharedArray<'a> {
    /// Key of the array.
    pub(crate) name: String,
    /// Element type.
    pub(crate) dtype: Dtype,
    /// Sizes of the dimensions.
    pub(crate) shape: Vec<u64>,
    /// Offset of this rank's part, in bytes; `None` if every rank has the whole array.
    pub(crate) first_byte: Option<u64>,
    /// Returns this rank's part, contiguous.
    pub(crate) value: Box<dyn Fn() -> Result<Tensor> + 'a>,
}

/// Writes a file of arrays atomically, with a checksum in its header; all ranks call this with the same arrays. Rank 0
/// writes the arrays that every rank has. One collective if arrays are in parts, and one more on several machines: the
/// file lands on rank 0's machine; elsewhere, `path` holds that machine's parts until they are sent.
pub(crate) fn write_arrays(
    path: &Path,
    arrays: &[SharedArray<'_>],
    metadata: &BTreeMap<String, String>,
    Ranks { group, hooks }: Ranks<'_>,
) -> Result<()> {
    let in_parts = arrays.iter().any(|array| array.first_byte.is_some());
    if group.rank() != 0 && !in_parts {
        return Ok(());
    }
    let specs = arrays.iter().map(|array| {
        let SharedArray { name, dtype, shape, .. } = array;
        ArraySpec { name, dtype: *dtype, shape }
    });
    let mut metadata = metadata.clone();
    metadata.insert(CHECKSUM.to_owned(), NO_CHECKSUM.to_owned());
    let file = ArraysFile::open(path, specs.collect(), &metadata)?;
    let mut parts = Vec::new();
    for SharedArray { name, first_byte, value, .. } in arrays {
        let first = if group.rank() == 0 { first_byte.or(Some(0)) } else { *first_byte };
        if let Some(first) = first {
            parts.push(file.write(name, first, &tensor::bytes(&value()?))?);
        }
    }
    if in_parts && spans_machines(group) {
        bring_together(file.rows(), Recipient::Rank(0), Ranks { group, hooks })?;
        if is_first_here(group) && group.rank() != 0 {
            RowFile::remove_partial(path)?;
        }
    }
    if in_parts {
        parts = gather(&parts, group, hooks)?;
    }
    if group.rank() == 0 { file.finish_with_checksum(parts) } else { Ok(()) }
}

/// The parts that all ranks have written; one collective.
fn gather(
    parts: &[FilePart],
    group: &dyn ProcessGroup,
    hooks: &dyn Hooks,
) -> Result<Vec<FilePart>> {
    let numbers = parts.iter().flat_map(|part| [part.begin, part.len, u64::from(part.crc)]);
    let numbers: Vec<i64> = numbers.map(|number| number as i64).collect();
    let mut all = Vec::new();
    for of_rank in all_gather(group, Tensor::f_from_slice(&numbers)?, hooks)? {
        let numbers = Vec::<i64>::try_from(of_rank)?;
        all.extend(numbers.chunks_exact(3).map(|part| FilePart {
            begin: part[0] as u64,
            len: part[1] as u64,
            crc: part[2] as u32,
        }));
    }
    Ok(all)
}
