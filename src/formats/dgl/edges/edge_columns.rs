//! Ids, types and feature rows of edges whose columns are in reading order.

use super::edge_ids::EdgeIds;
use crate::formats::dgl::blocks;
use crate::formats::dgl::structure::local_graph::{EdgeColumns, LocalGraph};
use crate::words::error::{Error, Result};
use std::ops::Range;
use std::path::PathBuf;

/// Global id, type and feature row of an inner edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) etype: u32,
    pub(crate) row: u64,
    pub(crate) id: u64,
}

/// A reader of the columns of consecutive ranges of edges, which counts the inner ones.
#[derive(Debug)]
pub(crate) struct EdgeColumnReader {
    path: PathBuf,
    columns: EdgeColumns,
    ids: EdgeIds,
    /// Whether feature rows are numbered by type in this order; otherwise they follow the ids.
    rows_in_edge_order: bool,
    /// Number of inner edges of each type so far.
    counts: Vec<u64>,
    stored: Vec<u64>,
    mask: Vec<u64>,
    types: Vec<u64>,
}

impl EdgeColumnReader {
    pub(crate) fn new(graph: &LocalGraph, ids: EdgeIds) -> Result<Self> {
        let columns = graph.edges.clone();
        if columns.id.is_none() && columns.ty.is_none() && ids.num_types() > 1 {
            let problem = "edges have neither ids nor types";
            return Err(Error::input(&graph.path, "type_per_edge", problem));
        }
        Ok(EdgeColumnReader {
            path: graph.path.clone(),
            // Without ids, edges and feature rows are numbered in the order of the file.
            rows_in_edge_order: !graph.is_graphbolt || columns.id.is_none(),
            columns,
            counts: vec![0; ids.num_types()],
            ids,
            stored: Vec::new(),
            mask: Vec::new(),
            types: Vec::new(),
        })
    }

    /// Reads the columns of a range of edges.
    pub(crate) fn read(&mut self, rows: Range<u64>) -> Result<()> {
        // If there are ids, they determine the types through the JSON file's ranges.
        let types = self.columns.ty.as_ref().filter(|_| self.columns.id.is_none());
        blocks::read_optional(types, rows.clone(), &mut self.types)?;
        blocks::read_optional(self.columns.id.as_ref(), rows.clone(), &mut self.stored)?;
        blocks::read_optional(self.columns.inner.as_ref(), rows, &mut self.mask)
    }

    /// Whether the edge at position `at` of the range is marked as inner; `None` in a file without marks.
    pub(crate) fn mark(&self, at: usize, row: u64) -> Result<Option<bool>> {
        let mask = self.columns.inner.as_ref();
        mask.map(|mask| blocks::truth(mask, row, self.mask[at])).transpose()
    }

    /// Whether the partition owns the id at position `at` of the range.
    pub(crate) fn is_owned(&self, at: usize) -> bool {
        self.stored.get(at).is_some_and(|&stored| self.ids.global(stored).is_some())
    }

    /// The inner edge at position `at` of the range. Inner edges must be requested in order, each once.
    pub(crate) fn inner_edge(&mut self, at: usize, row: u64) -> Result<Edge> {
        let (id, etype) = match self.stored.get(at) {
            Some(&stored) => {
                let id = self.ids.global(stored).ok_or_else(|| self.foreign(row, stored))?;
                (Some(id), self.ids.etype(id))
            }
            None => {
                (None, self.types.get(at).map_or(Ok(0), |&t| u32::try_from(t)).unwrap_or(u32::MAX))
            }
        };
        let range = self.ids.of_type(etype as usize);
        let count = self.counts.get_mut(etype as usize);
        let Some(count) = count.filter(|count| **count < range.end - range.start) else {
            let problem = format!(
                "row {row} is an inner edge of type {etype}, which has no room in edge_map"
            );
            return Err(Error::input(&self.path, "edata", problem));
        };
        let rank = *count;
        *count += 1;
        let id = id.unwrap_or(range.start + rank);
        let row = if self.rows_in_edge_order { rank } else { id - range.start };
        Ok(Edge { etype, row, id })
    }

    fn foreign(&self, row: u64, stored: u64) -> Error {
        let own = self.ids.own();
        let problem = format!(
            "row {row} is inner edge {stored}, outside this partition's [{}, {})",
            own.start, own.end
        );
        Error::input(&self.path, "edata _ID", problem)
    }
}
