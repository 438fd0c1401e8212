//! Tracked shards, whose two orders of edges are in memory or on disk independently.

use super::pointer::{Pinned, Pointer};
use crate::graph::SortedEdges;
use crate::words::error::Result;

/// A tracked [`GraphShard`](crate::graph::GraphShard). The forward pass walks edges by destination, the adjoint of a
/// sum by source; the two orders are written, read and kept separately.
#[derive(Clone)]
pub struct ShardPointer {
    pub(super) by_dst: Pointer<SortedEdges>,
    pub(super) by_src: Pointer<SortedEdges>,
}

impl ShardPointer {
    /// The edges by destination, kept in memory while the result exists.
    ///
    /// # Errors
    /// If they cannot be read back (`Io`, `Corrupt`).
    pub fn by_dst(&self) -> Result<Pinned<SortedEdges>> {
        self.by_dst.pin()
    }

    /// The edges by source, kept in memory while the result exists.
    ///
    /// # Errors
    /// If they cannot be read back (`Io`, `Corrupt`).
    pub fn by_src(&self) -> Result<Pinned<SortedEdges>> {
        self.by_src.pin()
    }

    /// Number of destinations, including those without edges: rows of [`by_dst`](Self::by_dst).
    pub fn num_destinations(&self) -> usize {
        self.by_dst.layout().num_rows()
    }

    /// Number of sources: rows of [`by_src`](Self::by_src).
    pub fn num_sources(&self) -> usize {
        self.by_src.layout().num_rows()
    }

    /// Number of edges.
    pub fn num_edges(&self) -> usize {
        self.by_dst.layout().num_edges()
    }
}
