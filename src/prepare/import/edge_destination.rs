//! The destinations of rows of edges.

use super::graph::RawEdgeWriter;
use super::readers::FileRows;
use super::spool::{EdgeSpool, ListedEdges};
use super::tables::{ConvertedArray, NUMBERS, edge_value};
use crate::words::error::Result;

/// A destination for the rows of an edge file. The selected columns are the ends, edge data, and the relation.
pub(super) trait EdgeDestination {
    /// Checks everything except the ends of the current row, like [`push`](Self::push).
    fn check(&mut self, rows: &FileRows) -> Result<()>;

    /// Takes the edge of the current row.
    fn push(&mut self, ends: [u64; 2], rows: &FileRows) -> Result<()>;
}

/// The edges of one type: ends and edge data.
pub(super) struct EdgesOfType<'a> {
    pub(super) edges: &'a mut RawEdgeWriter,
    /// Names of the columns of edge data, and their arrays.
    pub(super) names: &'a [String],
    pub(super) arrays: &'a mut [ConvertedArray],
}

impl EdgeDestination for EdgesOfType<'_> {
    fn check(&mut self, rows: &FileRows) -> Result<()> {
        (2..).zip(self.names).try_for_each(|(at, name)| edge_value(rows, at, name).map(drop))
    }

    fn push(&mut self, ends: [u64; 2], rows: &FileRows) -> Result<()> {
        for (at, (array, name)) in (2..).zip(self.arrays.iter_mut().zip(self.names)) {
            if let Some(problem) = array.push(rows.value(at))? {
                let error = rows.fail(format!("column {name}: {problem}"));
                return Err(error.with_hint(NUMBERS));
            }
        }
        self.edges.push(ends[0], ends[1])
    }
}

/// Edges whose type is in a column, or edges of one type among several; or those that a split lists.
pub(super) struct SpooledRows<'a> {
    pub(super) spool: &'a mut EdgeSpool,
    /// The type, unless a column names it.
    pub(super) etype: Option<u32>,
    /// For edges of a split: the listed edges and the number of the mask.
    pub(super) listed: Option<(&'a mut ListedEdges, u8)>,
}

impl EdgeDestination for SpooledRows<'_> {
    fn check(&mut self, rows: &FileRows) -> Result<()> {
        if self.listed.is_none() {
            self.spool.check_data(rows)?;
        }
        self.spool.type_of_row(self.etype, rows).map(|_| ())
    }

    fn push(&mut self, ends: [u64; 2], rows: &FileRows) -> Result<()> {
        let etype = self.spool.type_of_row(self.etype, rows)?;
        match &mut self.listed {
            None => self.spool.push(etype, ends, rows),
            Some((listed, mask)) => listed.push(etype, ends, *mask),
        }
    }
}
