//! Node data from per-rank tensors.

use std::path::Path;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::own_rows::share;
use super::partition_policy::PartitionPolicy;
use crate::engine::comm::Ranks;
use crate::error::Result;
use crate::graph::PartitionBook;
use crate::io::IoCounters;
use crate::load::NodeColumn;

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
