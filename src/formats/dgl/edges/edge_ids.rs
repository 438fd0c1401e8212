//! Mapping from edge ids in a file to global ids.

use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::blocks;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::structure::local_graph::LocalGraph;
use crate::graph::{Bitmap, RankedBitmap};
use crate::words::error::Result;
use std::ops::Range;

/// The edges that a partition owns: their global ids and types.
#[derive(Clone, Debug)]
pub(crate) struct EdgeIds {
    own: Range<u64>,
    /// End of each edge type inside `own`.
    type_ends: Vec<u64>,
    /// Inner edges by original id, in directories with original ids.
    original: Option<RankedBitmap>,
}

impl EdgeIds {
    /// Prepares the mapping. In a directory with original ids, this reads the column of ids and keeps a bit per edge of
    /// the whole graph.
    pub(crate) fn load(config: &PartitionConfig, part: usize, graph: &LocalGraph) -> Result<Self> {
        let book = config.book();
        let types = 0..book.etypes().len();
        let original = match (config.original(), &graph.edges.id) {
            (Some(_), Some(ids)) => Some(rank_inner(ids, graph, book.num_edges())?),
            _ => None,
        };
        Ok(EdgeIds {
            own: book.edge_range(part),
            type_ends: types.map(|etype| book.edge_type_range(part, etype).end).collect(),
            original,
        })
    }

    /// The ids that the partition owns.
    pub(crate) fn own(&self) -> Range<u64> {
        self.own.clone()
    }

    /// The global id of an inner edge; `None` if the partition does not own it.
    pub(crate) fn global(&self, stored: u64) -> Option<u64> {
        let id = match &self.original {
            Some(ranks) => self.own.start.checked_add(ranks.rank(stored)?)?,
            None => stored,
        };
        self.own.contains(&id).then_some(id)
    }

    /// The type of an owned edge.
    pub(crate) fn etype(&self, id: u64) -> u32 {
        self.type_ends.partition_point(|&end| end <= id) as u32
    }

    /// The ids of one type that the partition owns; empty for an unknown type.
    pub(crate) fn of_type(&self, etype: usize) -> Range<u64> {
        let end_of = |ty: usize| self.type_ends.get(ty).copied().unwrap_or(self.own.end);
        let start = etype.checked_sub(1).map_or(self.own.start, end_of);
        start..end_of(etype)
    }

    /// Number of edge types.
    pub(crate) fn num_types(&self) -> usize {
        self.type_ends.len()
    }
}

fn rank_inner(ids: &ArrayRef, graph: &LocalGraph, num_edges: u64) -> Result<RankedBitmap> {
    let Some(inner) = &graph.edges.inner else {
        return Err(
            ids.fail("inner_edge is missing: inner edges cannot be distinguished from others")
        );
    };
    let mut set = Bitmap::new(num_edges);
    let (mut stored, mut mask) = (Vec::new(), Vec::new());
    for rows in blocks::ranges(graph.num_edges) {
        blocks::read(ids, rows.clone(), &mut stored)?;
        blocks::read(inner, rows.clone(), &mut mask)?;
        for ((&id, &value), row) in stored.iter().zip(&mask).zip(rows) {
            if blocks::truth(inner, row, value)? && !set.insert(id) {
                return Err(
                    ids.fail(format!("row {row} is {id}, which is a repetition or out of range"))
                );
            }
        }
    }
    Ok(RankedBitmap::new(set))
}
