//! Clusters, METIS on the clusters, refinement.

use super::clusters::{self, find_clusters};
use super::quotient::quotient;
use super::refine::{self, refine};
use crate::prepare::partition::partitioner::PartitionTask;
use crate::prepare::partition::progress::{Meter, Observer};
use crate::words::error::Result;

/// A multilevel assignment that keeps 16 bits per node, and buffers of a fixed size, in memory. It reads edges from
/// disk in node order, pass after pass. The same graph and seed give the same partitions, whatever the memory.
///
/// One level of coarsening happens on disk ([`find_clusters`]). The graph of clusters is small enough for METIS, whose
/// partitions are then refined on the graph itself ([`refine()`]).
pub(in crate::prepare::partition) fn stream_parts(
    task: &PartitionTask<'_>,
    observer: &mut Observer<'_>,
) -> Result<Vec<u16>> {
    let adjacency = task.adjacency(observer)?;
    let total = adjacency.num_nodes * (clusters::PASSES + 1 + refine::PASSES);
    let mut meter = Meter::new(observer, "assigning nodes", total)?;
    let (mut labels, found) = find_clusters(adjacency, &mut meter)?;
    let graph = quotient(adjacency, &labels, found, task, &mut meter)?;
    graph.check_memory(task.memory)?;
    let parts = graph.partition(task.num_parts, task.seed)?;
    for label in &mut labels {
        *label = parts[usize::from(*label)];
    }
    // If METIS had nodes instead of clusters, its partitions are final except for their balance.
    let loosely = (found as u64) < adjacency.num_nodes;
    refine(adjacency, task.balance, &mut labels, task.num_parts, loosely, &mut meter)?;
    Ok(labels)
}
