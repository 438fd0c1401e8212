//! Edge data from per-rank tensors.

use std::path::Path;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::own_rows::share;
use super::partition_policy::PartitionPolicy;
use crate::engine::comm::Ranks;
use crate::error::Result;
use crate::graph::PartitionBook;
use crate::io::IoCounters;
use crate::load::EdgeFeatures;

/// Features of the edges of a type, from each rank's rows for its own edges, `[edges of the rank's partition, ...]`, in
/// the order of their ids. Rows become `float32` and go to a file in `folder`, which the caller removes after the last
/// use of the features. All ranks call this; three collectives, and two more on several machines, where `folder` must be
/// local to each.
///
/// # Errors
/// If the number of rows differs from the number of edges, ranks differ in the shape of rows, or the file cannot be
/// written.
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
