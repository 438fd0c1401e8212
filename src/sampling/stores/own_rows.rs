//! Tensors of the whole graph from each rank's rows for its own nodes or edges.

use std::path::Path;
use std::sync::Arc;

use tch::Tensor;

use super::dist_tensor::{DistElement, DistTensor, DistTensorConfig};
use super::partition_policy::PartitionPolicy;
use crate::engine::comm::{Ranks, barrier};
use crate::engine::tensor::{self, TensorElement};
use crate::error::{Error, Result};
use crate::graph::PartitionBook;

/// Writes the rows of all ranks into a temporary tensor and returns the result of `open` on it; the tensor's file is
/// then removed. Three collectives, and two more on several machines, where `folder` must be local to each.
pub(super) fn share<T: DistElement + TensorElement, C>(
    book: &Arc<PartitionBook>,
    policy: PartitionPolicy,
    rows: &Tensor,
    folder: &Path,
    ranks: Ranks<'_>,
    open: impl FnOnce(&DistTensor<T>) -> Result<C>,
) -> Result<C> {
    let size = rows.size();
    let own = policy.rows_of(book, ranks.group.rank());
    let wanted = own.end - own.start;
    let Some((count, row_shape)) = size.split_first().filter(|(count, _)| **count as u64 == wanted)
    else {
        let (field, what) = match policy {
            PartitionPolicy::Nodes(_) => ("node data", "nodes"),
            PartitionPolicy::Edges(_) => ("edge data", "edges"),
        };
        let problem = format!("a tensor {size:?} does not have a row for each of {wanted} {what}");
        return Err(Error::config(field, problem));
    };
    let row_shape: Vec<usize> = row_shape.iter().map(|size| *size as usize).collect();
    let config =
        DistTensorConfig { folder, name: None, row_shape: &row_shape, policy, persistent: false };
    let all = DistTensor::<T>::on_all_ranks(book, &config, |_, _| {}, ranks)?;
    if *count > 0 {
        all.write_from(own.start, &tensor::slice::<T>(&rows.f_contiguous()?))?;
    }
    all.send_own_rows(own, ranks)?;
    let opened = open(&all)?;
    // All ranks have written and opened the file before the rank that has created it drops `all`, which removes it.
    barrier(ranks.group, ranks.hooks)?;
    Ok(opened)
}
