//! Input of all ways to assign nodes.

use std::cell::OnceCell;
use std::path::Path;

use super::adjacency::Adjacency;
use super::balance::Balance;
use super::edge_rules::RuledEdges;
use super::progress::{Meter, Observer};
use crate::prepare::import::RawGraph;
use crate::words::error::Result;

/// Input of the assignment of nodes to partitions.
pub(super) struct PartitionTask<'a> {
    pub(super) graph: &'a RawGraph,
    pub(super) edges: &'a RuledEdges<'a>,
    /// Quantities to balance.
    pub(super) balance: &'a Balance<'a>,
    pub(super) num_parts: usize,
    pub(super) seed: u64,
    /// Bytes of memory available in addition to the result.
    pub(super) memory: u64,
    /// Folder of temporary files.
    pub(super) folder: &'a Path,
    /// The neighbours, once they are needed.
    pub(super) adjacency: &'a OnceCell<Adjacency>,
}

impl PartitionTask<'_> {
    /// The neighbours of all nodes.
    pub(super) fn adjacency(&self, observer: &mut Observer<'_>) -> Result<&Adjacency> {
        if let Some(adjacency) = self.adjacency.get() {
            return Ok(adjacency);
        }
        let rows = (0..self.graph.etypes.len()).map(|etype| self.graph.edges.num_edges(etype));
        // Each edge is read once and written once.
        let mut meter = Meter::new(observer, "sorting neighbours", 2 * rows.sum::<u64>())?;
        let num_nodes = self.graph.num_nodes();
        let made =
            Adjacency::build(self.edges, num_nodes, self.folder, self.memory / 2, &mut meter)?;
        Ok(self.adjacency.get_or_init(|| made))
    }
}
