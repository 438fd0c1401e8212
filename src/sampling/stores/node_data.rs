//! Node data from tensors that each rank has for its own nodes.

use std::path::Path;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::dist_tensor::{DistElement, DistTensor, DistTensorConfig};
use super::partition_policy::PartitionPolicy;
use crate::engine::comm::{Ranks, barrier};
use crate::engine::tensor::{self, TensorElement};
use crate::error::{Error, Result};
use crate::graph::PartitionBook;
use crate::io::IoCounters;
use crate::load::NodeColumn;

/// A column of the nodes of a type from the rows that each rank has for its own ones, `[nodes of the rank's partition, ...]`: what
/// SAR's `input_node_features` and `output_node_features` take. Floating-point rows become `float32`, others `int64`. The rows go to a
/// file in `folder`, which the caller removes after the last use of the column. All ranks call this; three collectives.
///
/// # Errors
/// If the rows are not as many as the nodes, ranks differ in the shape of rows, or the file cannot be written.
pub fn node_data(
    book: &Arc<PartitionBook>,
    ntype: usize,
    rows: &Tensor,
    folder: &Path,
    ranks: Ranks<'_>,
) -> Result<NodeColumn> {
    if matches!(rows.kind(), Kind::Half | Kind::BFloat16 | Kind::Float | Kind::Double) {
        share::<f32>(book, ntype, &rows.f_to_kind(Kind::Float)?, folder, ranks)
    } else {
        share::<i64>(book, ntype, &rows.f_to_kind(Kind::Int64)?, folder, ranks)
    }
}

fn share<T: DistElement + TensorElement>(
    book: &Arc<PartitionBook>,
    ntype: usize,
    rows: &Tensor,
    folder: &Path,
    ranks: Ranks<'_>,
) -> Result<NodeColumn> {
    let size = rows.size();
    let policy = PartitionPolicy::Nodes(ntype);
    let own = policy.rows_of(book, ranks.group.rank());
    let nodes = own.end - own.start;
    let Some((count, row_shape)) = size.split_first().filter(|(count, _)| **count as u64 == nodes)
    else {
        let problem = format!("a tensor {size:?} does not have a row for each of {nodes} nodes");
        return Err(Error::config("node data", problem));
    };
    let row_shape: Vec<usize> = row_shape.iter().map(|size| *size as usize).collect();
    let config =
        DistTensorConfig { folder, name: None, row_shape: &row_shape, policy, persistent: false };
    let all = DistTensor::<T>::on_all_ranks(book, &config, |_, _| {}, ranks)?;
    if *count > 0 {
        all.write_from(own.start, &tensor::slice::<T>(&rows.f_contiguous()?))?;
    }
    let column = all.node_column(IoCounters::default())?;
    // The column has the file open; its name may go with the handle of rank 0 when all ranks have written.
    barrier(ranks.group, ranks.hooks)?;
    Ok(column)
}
