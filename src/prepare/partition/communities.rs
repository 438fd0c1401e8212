//! Communities, by which nodes are ordered.

use super::partitioner::PartitionTask;
use super::progress::Observer;
use super::stream::stream_parts;
use crate::words::error::Result;

/// Mean size of a community, whose rows fit in a core's cache.
const SIZE: u64 = 256;

/// Largest number of communities: METIS makes them from at most 65535 clusters.
const MOST: u64 = 4096;

/// The community of each node: a part of a cut into many small ones.
pub(super) fn find_communities(
    task: &PartitionTask<'_>,
    observer: &mut Observer<'_>,
) -> Result<Vec<u16>> {
    let num_parts = task.graph.num_nodes().div_ceil(SIZE).min(MOST) as usize;
    stream_parts(&PartitionTask { num_parts, ..*task }, observer)
}
