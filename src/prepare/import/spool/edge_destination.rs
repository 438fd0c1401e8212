//! The destinations of rows of edges.

use super::edge_spool::EdgeSpool;
use super::listed_edges::ListedEdges;
use crate::prepare::import::graph::RawEdgeWriter;
use crate::prepare::import::readers::{CellValue, FileRows};
use crate::prepare::import::tables::{ConvertedArray, edge_value};
use crate::words::error::{Error, Result};

/// A destination for the rows of an edge file. The selected columns are the ends, edge data, and the relation.
pub(in crate::prepare::import) trait EdgeDestination {
    /// Reads everything except the ends of the current row.
    fn read(&mut self, rows: &FileRows) -> Result<()>;

    /// Adds the edge of the row that was read.
    fn push(&mut self, ends: [u64; 2]) -> Result<()>;
}

/// The edges of one type: ends and edge data.
pub(in crate::prepare::import) struct EdgesOfType<'a> {
    pub(in crate::prepare::import) edges: &'a mut RawEdgeWriter,
    /// Names of the columns of edge data, and their arrays.
    pub(in crate::prepare::import) names: &'a [String],
    pub(in crate::prepare::import) arrays: &'a mut [ConvertedArray],
    /// Edge data of a row.
    pub(in crate::prepare::import) values: Vec<CellValue<'static>>,
}

impl EdgeDestination for EdgesOfType<'_> {
    fn read(&mut self, rows: &FileRows) -> Result<()> {
        self.values.clear();
        for (at, name) in (2..).zip(self.names) {
            self.values.push(edge_value(rows, at, name)?);
        }
        Ok(())
    }

    fn push(&mut self, ends: [u64; 2]) -> Result<()> {
        for (array, value) in self.arrays.iter_mut().zip(&self.values) {
            if let Some(problem) = array.push(*value)? {
                return Err(Error::internal(problem));
            }
        }
        self.edges.push(ends[0], ends[1])
    }
}

/// Edges whose type is in a column, or edges of one type among several; or those that a split lists.
pub(in crate::prepare::import) struct SpooledRows<'a> {
    pub(in crate::prepare::import) spool: &'a mut EdgeSpool,
    /// The type of all rows or, if a column names types, of the row that was read.
    pub(in crate::prepare::import) etype: u32,
    /// For edges of a split: the listed edges and the number of the mask.
    pub(in crate::prepare::import) listed: Option<(&'a mut ListedEdges, u8)>,
}

impl EdgeDestination for SpooledRows<'_> {
    fn read(&mut self, rows: &FileRows) -> Result<()> {
        if self.listed.is_none() {
            self.spool.read_data(rows)?;
        }
        self.etype = self.spool.type_of_row(self.etype, rows)?;
        Ok(())
    }

    fn push(&mut self, ends: [u64; 2]) -> Result<()> {
        match &mut self.listed {
            None => self.spool.push(self.etype, ends),
            Some((listed, mask)) => listed.push(self.etype, ends, *mask),
        }
    }
}
