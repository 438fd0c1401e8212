//! The edges that a run has kept back, of all ranks, and the known edges at their ends.

use std::collections::HashMap;
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
        let asked = self.edges.iter().map(|edge| ((edge.etype, edge.ends[fixed]), Vec::new()));
        let mut known: KnownEnds = asked.collect();
        partition.each_edge(|InnerEdge { src, dst, etype, .. }| {
            let ends = [src, dst];
            if let Some(others) = known.get_mut(&(etype, ends[fixed])) {
                others.push(ends[1 - fixed]);
            }
            Ok(())
        })?;
        for others in known.values_mut() {
            others.sort_unstable();
            // Of parallel edges, one counts.
            others.dedup();
        }
        Ok(known)
    }
}

/// The nodes, ascending, at the other ends of the edges of a type and a node.
pub(super) type KnownEnds = HashMap<(usize, u64), Vec<u64>>;
