//! Learned rows in a file: `embeds.<node type>.weight`, `float32 [nodes, width]`, as safetensors, in the order of the
//! partitions. Every rank writes and reads its own rows.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tch::{Kind, Tensor};

use crate::error::{Error, Result};
use crate::io::{ArraySpec, Dtype, RowFile, safetensors_header};
use crate::tensor;

/// A file of learned rows being written; all ranks open it alike.
pub(super) fn create(path: &Path, ntype: &str, shape: [u64; 2]) -> Result<RowFile> {
    let name = key(ntype);
    let spec = ArraySpec { name: &name, dtype: Dtype::F32, shape: &shape };
    RowFile::open(path, safetensors_header(&[spec])?, shape[1] as usize * size_of::<f32>())
}

/// Reads `rows` rows from row `first` on, of a file of `shape`.
///
/// # Errors
/// If the file cannot be read or holds something else.
pub(super) fn read_rows(
    path: &Path,
    ntype: &str,
    shape: [u64; 2],
    (first, rows): (u64, usize),
) -> Result<Tensor> {
    let file = File::open(path).map_err(|e| Error::unreadable(path, &e))?;
    let name = key(ntype);
    let other = |problem: &str| {
        Error::input(path, &name, problem)
            .with_hint("give the file that was saved beside the model's weights")
    };
    // The header is the one this program writes for such rows, or the file holds something else.
    let spec = ArraySpec { name: &name, dtype: Dtype::F32, shape: &shape };
    let header = safetensors_header(&[spec])?;
    let mut found = vec![0; header.len()];
    let read = file.read_exact_at(&mut found, 0);
    if read.is_err() || found != header {
        let [nodes, width] = shape;
        return Err(other(&format!("are no learned rows of {nodes} nodes, {width} columns wide")));
    }
    let mut values = tensor::empty(&[rows as i64, shape[1] as i64], Kind::Float)?;
    let offset = header.len() as u64 + first * shape[1] * size_of::<f32>() as u64;
    let read = file.read_exact_at(tensor::bytes_mut(&mut values), offset);
    read.map_err(|e| other(&format!("end too early: {e}")))?;
    Ok(values)
}

fn key(ntype: &str) -> String {
    format!("embeds.{ntype}.weight")
}
