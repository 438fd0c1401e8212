//! The edges that a run has kept back, of all ranks, and the known edges at their ends.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;

use super::own_prediction::OwnPrediction;
use super::shared_file::SharedFile;
use crate::engine::comm::share_files;
use crate::formats::dgl::{InnerEdge, Partition};
use crate::load::EdgeUse;
use crate::words::error::{Error, Result};

/// Size of a stored edge in bytes.
const EDGE_BYTES: usize = 3 * size_of::<u64>();

/// Number of edges that are written together.
const BLOCK: usize = 4096;

/// An edge, by the global ids of its source and its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeldEdge {
    pub(super) etype: usize,
    pub(super) ends: [u64; 2],
}

/// The edges of one use, of all ranks, one rank after the other.
pub(super) struct HeldEdges {
    pub(super) edges: Vec<HeldEdge>,
    /// Range of the edges that end at this rank's nodes.
    pub(super) own: Range<usize>,
}

impl HeldEdges {
    /// Reads this rank's edges whose entry in `uses` is `wanted`, and those of the other ranks; one collective. Takes 24 bytes per edge.
    pub(super) fn share(
        own: &OwnPrediction<'_>,
        uses: Vec<EdgeUse>,
        wanted: EdgeUse,
    ) -> Result<Self> {
        let path_of = |rank: usize| own.here.folder.join(format!("held-edges-{rank}"));
        let file = SharedFile::create(&path_of(own.here.rank))?;
        let first = own.setup.partition.book().edge_range(own.here.rank).start;
        let (mut block, mut at) = (Vec::new(), 0);
        own.setup.partition.each_edge(|InnerEdge { src, dst, etype, id, .. }| {
            if uses[(id - first) as usize] != wanted {
                return Ok(());
            }
            let edge: [u8; EDGE_BYTES] = bytemuck::cast([etype as u64, src, dst]);
            block.extend_from_slice(&edge);
            if block.len() == BLOCK * EDGE_BYTES {
                file.write(at, &block)?;
                at += block.len() as u64;
                block.clear();
            }
            Ok(())
        })?;
        file.write(at, &block)?;
        drop((uses, block));
        share_files(&path_of, own.setup.ranks())?;
        let (mut edges, mut range) = (Vec::new(), 0..0);
        for rank in 0..own.setup.group.world_size() {
            let path = path_of(rank);
            let bytes = fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
            let begin = edges.len();
            edges.extend(bytes.as_chunks::<EDGE_BYTES>().0.iter().map(|edge| {
                let [etype, src, dst]: [u64; 3] = bytemuck::cast(*edge);
                HeldEdge { etype: etype as usize, ends: [src, dst] }
            }));
            if rank == own.here.rank {
                range = begin..edges.len();
            }
        }
        Ok(HeldEdges { edges, own: range })
    }

    /// The edges of `partition`, of any use, that join a node to another end of a held edge's `fixed` end.
    pub(super) fn known(&self, partition: &Partition, fixed: usize) -> Result<KnownEnds> {
        let asked: HashSet<(usize, u64)> =
            self.edges.iter().map(|edge| (edge.etype, edge.ends[fixed])).collect();
        let mut known = Vec::new();
        partition.each_edge(|InnerEdge { src, dst, etype, .. }| {
            let ends = [src, dst];
            if asked.contains(&(etype, ends[fixed])) {
                known.push((etype, ends[fixed], ends[1 - fixed]));
            }
            Ok(())
        })?;
        known.sort_unstable();
        // Of parallel edges, one counts.
        known.dedup();
        Ok(KnownEnds(known))
    }
}

/// Edge type, a node, and the node at the other end, ascending.
pub(super) struct KnownEnds(Vec<(usize, u64, u64)>);

impl KnownEnds {
    /// The nodes to which this node has an edge of the type.
    pub(super) fn of(&self, etype: usize, node: u64) -> &[(usize, u64, u64)] {
        let begin = self.0.partition_point(|edge| (edge.0, edge.1) < (etype, node));
        let end = self.0.partition_point(|edge| (edge.0, edge.1) <= (etype, node));
        &self.0[begin..end]
    }
}
