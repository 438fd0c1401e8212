//! The edges from nodes of one rank into this rank's nodes, by source.

use super::graph_shard_manager::GraphShardManager;
use crate::engine::spill::Pinned;
use crate::graph::SortedEdges;
use crate::words::error::Result;

/// Edges from the nodes of a rank, kept in memory while this exists.
pub struct OutEdges {
    edges: Pinned<SortedEdges>,
    /// Rows of the rank that columns stand for; empty if columns are rows.
    sources: Pinned<Vec<u32>>,
    own: bool,
}

impl GraphShardManager {
    /// The edges from the nodes of a rank into own nodes.
    ///
    /// # Errors
    /// If they cannot be read back (`Io`, `Corrupt`).
    pub fn out_edges(&self, rank: usize) -> Result<OutEdges> {
        let edges = self.shards[rank].by_src()?;
        Ok(OutEdges {
            edges,
            sources: self.sources[rank].pin()?,
            own: rank == self.exchange.group.rank(),
        })
    }
}

impl OutEdges {
    /// Own rows that have an edge from this row of the rank.
    pub fn destinations(&self, row: u32) -> &[u32] {
        let column = if self.own {
            Some(row)
        } else {
            self.sources.binary_search(&row).ok().map(|column| column as u32)
        };
        let ends = &self.edges.ends;
        let found = column.and_then(|column| ends.rows().binary_search(&column).ok());
        found.map_or(&[], |i| ends.columns(i))
    }
}
