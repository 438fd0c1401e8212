//! A book, and places for tensors.

use std::path::Path;
use std::sync::Arc;

use sar::graph::{CanonicalEtype, PartitionBook};
use sar::sampling::stores::{DistTensorConfig, PartitionPolicy};

/// Nodes: a 3, b 4 in partition 0; a 4, b 0 in partition 1. Edges: 5 and 2.
pub(crate) fn book() -> Arc<PartitionBook> {
    let etypes = vec![CanonicalEtype::new("a", "r", "b")];
    let ntypes = vec!["a".to_owned(), "b".to_owned()];
    let nodes = [vec![3, 4], vec![4, 0]];
    Arc::new(PartitionBook::new(ntypes, etypes, &nodes, &[vec![5], vec![3]]).unwrap())
}

/// A tensor of the seven nodes of type a.
pub(crate) fn config<'a>(
    folder: &'a Path,
    name: &'a str,
    row_shape: &'a [usize],
) -> DistTensorConfig<'a> {
    let (name, policy) = (Some(name), PartitionPolicy::Nodes(0));
    DistTensorConfig { folder, name, row_shape, policy, persistent: false }
}
