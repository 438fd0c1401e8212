//! Ids, types and feature rows of edges by entry.

use super::edge_columns::{Edge, EdgeColumnReader};
use super::edge_ids::EdgeIds;
use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::blocks;
use crate::formats::dgl::structure::local_graph::LocalGraph;
use crate::words::error::{Error, Result};
use std::ops::Range;
use std::path::PathBuf;

/// The ids, types and feature rows of the edges of consecutive ranges of entries.
#[derive(Debug)]
pub(crate) struct EdgeNumbers {
    path: PathBuf,
    order: Order,
}

// There is one per reader, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Order {
    /// Entry `i` is local edge `i`: columns are read along with the entries.
    SameAsEntries(EdgeColumnReader),
    /// Entry `i` is a different local edge, which is looked up.
    Listed { edge_of_entry: ArrayRef, edges: Lookup, buffer: Vec<u64> },
}

#[derive(Debug)]
enum Lookup {
    /// Inner edges come first and have consecutive ids.
    Consecutive(EdgeIds),
    /// Inner edges are anywhere: holds id and row of every local edge. Only heterogeneous partitions of DGL 0.6 that
    /// were saved without COO need this.
    Table(Vec<(u64, u64)>, EdgeIds),
}

/// Placeholder for the id of an edge that is not inner.
const HALO: u64 = u64::MAX;

impl EdgeNumbers {
    pub(crate) fn new(graph: &LocalGraph, ids: EdgeIds) -> Result<Self> {
        let order = match graph.edge_of_entry.clone() {
            None => Order::SameAsEntries(EdgeColumnReader::new(graph, ids)?),
            Some(edge_of_entry) => {
                let edges = Lookup::new(graph, ids)?;
                Order::Listed { edge_of_entry, edges, buffer: Vec::new() }
            }
        };
        Ok(EdgeNumbers { path: graph.path.clone(), order })
    }

    /// Prepares a range of entries.
    pub(crate) fn read(&mut self, entries: Range<u64>) -> Result<()> {
        match &mut self.order {
            Order::SameAsEntries(columns) => columns.read(entries),
            Order::Listed { edge_of_entry, buffer, .. } => {
                blocks::read(edge_of_entry, entries, buffer)
            }
        }
    }

    /// The edge of the entry at position `at` of the last range; `None` for halo edges. `inner` says whether its
    /// destination is an inner node, which the marks must confirm. Entries must be requested in order.
    pub(crate) fn edge(&mut self, at: usize, entry: u64, inner: bool) -> Result<Option<Edge>> {
        match &mut self.order {
            Order::SameAsEntries(columns) => {
                let marked = columns.mark(at, entry)?;
                if marked.is_some_and(|marked| marked != inner) {
                    return Err(self.mismatch(entry, inner));
                }
                inner.then(|| columns.inner_edge(at, entry)).transpose()
            }
            Order::Listed { edges, buffer, .. } => {
                let edge = edges.get(buffer[at]);
                if edge.is_some() != inner {
                    return Err(self.mismatch(entry, inner));
                }
                Ok(edge)
            }
        }
    }

    fn mismatch(&self, entry: u64, inner: bool) -> Error {
        let (is, end) = if inner { ("not inner", "an inner") } else { ("inner", "a halo") };
        let problem = format!("edge {entry} is {is}, but its destination is {end} node");
        Error::input(&self.path, "inner_edge", problem)
    }
}

impl Lookup {
    fn new(graph: &LocalGraph, ids: EdgeIds) -> Result<Self> {
        if are_consecutive(graph, &ids)? {
            return Ok(Lookup::Consecutive(ids));
        }
        let mut columns = EdgeColumnReader::new(graph, ids.clone())?;
        let mut table = vec![(HALO, 0); graph.num_edges as usize];
        for rows in blocks::ranges(graph.num_edges) {
            columns.read(rows.clone())?;
            for (at, row) in rows.enumerate() {
                if columns.mark(at, row)?.unwrap_or_else(|| columns.is_owned(at)) {
                    let edge = columns.inner_edge(at, row)?;
                    table[row as usize] = (edge.id, edge.row);
                }
            }
        }
        Ok(Lookup::Table(table, ids))
    }

    /// A local edge, if it is inner.
    fn get(&self, edge: u64) -> Option<Edge> {
        match self {
            Lookup::Table(table, ids) => {
                let &(id, row) = table.get(usize::try_from(edge).ok()?)?;
                (id != HALO).then(|| Edge { etype: ids.etype(id), row, id })
            }
            Lookup::Consecutive(ids) => {
                let own = ids.own();
                let id = own.start.checked_add(edge).filter(|id| own.contains(id))?;
                let etype = ids.etype(id);
                Some(Edge { etype, row: id - ids.of_type(etype as usize).start, id })
            }
        }
    }
}

/// Whether the inner edges come first, with consecutive ids from the start of the partition's range.
pub(crate) fn are_consecutive(graph: &LocalGraph, ids: &EdgeIds) -> Result<bool> {
    let own = ids.own();
    let owned = own.end - own.start;
    let Some(column) = graph.edges.id.as_ref().filter(|_| owned <= graph.num_edges) else {
        return Ok(false);
    };
    let (mut stored, mut mask) = (Vec::new(), Vec::new());
    for rows in blocks::ranges(owned) {
        blocks::read(column, rows.clone(), &mut stored)?;
        blocks::read_optional(graph.edges.inner.as_ref(), rows.clone(), &mut mask)?;
        let mut due = rows.map(|row| own.start + row);
        if mask.contains(&0) || !stored.iter().all(|&id| ids.global(id) == due.next()) {
            return Ok(false);
        }
    }
    Ok(true)
}
