//! Node data and edge data from each rank's rows for its own nodes or edges.

use std::path::Path;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::dist_tensor::{DistElement, DistTensor, DistTensorConfig};
use super::partition_policy::PartitionPolicy;
use crate::engine::comm::{Ranks, barrier};
use crate::engine::tensor::{self, TensorElement};
use crate::graph::PartitionBook;
use crate::io::IoCounters;
use crate::load::{EdgeFeatures, NodeColumn};
use crate::words::error::{Error, Result};

/// A column of the nodes of a type, from each rank's rows for its own nodes, `[nodes of the rank's partition, ...]`:
/// the argument of SAR's `input_node_features` and `output_node_features`. Floating-point rows become `float32`, others
/// `int64`. Rows go to a file in `folder`, which the caller removes after the last use of the column. All ranks call
/// this; three collectives, and two more on several machines, where `folder` must be local to each.
///
/// # Errors
/// If the number of rows differs from the number of nodes, ranks differ in the shape of rows, or the file cannot be
/// written.
pub fn node_data(
    book: &Arc<PartitionBook>,
    ntype: usize,
    rows: &Tensor,
    folder: &Path,
    ranks: Ranks<'_>,
) -> Result<NodeColumn> {
    let (policy, counters) = (PartitionPolicy::Nodes(ntype), IoCounters::default());
    if matches!(rows.kind(), Kind::Half | Kind::BFloat16 | Kind::Float | Kind::Double) {
        let rows = rows.f_to_kind(Kind::Float)?;
        share::<f32, _>(book, policy, &rows, folder, ranks, |all| all.node_column(counters))
    } else {
        let rows = rows.f_to_kind(Kind::Int64)?;
        share::<i64, _>(book, policy, &rows, folder, ranks, |all| all.node_column(counters))
    }
}

/// Features of the edges of a type, from each rank's rows for its own edges, `[edges of the rank's partition, ...]`, in
/// the order of their ids; otherwise like [`node_data`]. Rows become `float32`.
///
/// # Errors
/// As for [`node_data`].
pub fn edge_data(
    book: &Arc<PartitionBook>,
    etype: usize,
    rows: &Tensor,
    folder: &Path,
    ranks: Ranks<'_>,
) -> Result<EdgeFeatures> {
    let (policy, rows) = (PartitionPolicy::Edges(etype), rows.f_to_kind(Kind::Float)?);
    let counters = IoCounters::default();
    share::<f32, _>(book, policy, &rows, folder, ranks, |all| all.edge_features(counters))
}

/// Writes the rows of all ranks into a temporary tensor and returns the result of `open` on it; the tensor's file is
/// then removed.
fn share<T: DistElement + TensorElement, C>(
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
    all.send_own_rows(ranks)?;
    let opened = open(&all)?;
    // All ranks have written and opened the file before the rank that has created it drops `all`, which removes it.
    barrier(ranks.group, ranks.hooks)?;
    Ok(opened)
}
