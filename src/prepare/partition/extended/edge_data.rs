//! Data of new edges, in the types of the graph's.

use std::path::Path;

use crate::io::Dtype;
use crate::prepare::import::{CellValue, ConvertedArray, EdgeType, Table};
use crate::words::error::{Error, Result};

/// An array of edge data, with the values of new edges.
pub(super) struct MoreEdgeData {
    dtype: Dtype,
    array: ConvertedArray,
    /// Values of the edges that files list, if there are any.
    listed: Option<Table>,
    values: Vec<f64>,
}

impl MoreEdgeData {
    /// No values yet. `known` is the graph's own array, `new` has the columns of the files.
    pub(super) fn create(
        name: &str,
        known: &Table,
        new: Option<&EdgeType>,
        folder: &Path,
    ) -> Result<Self> {
        let listed = new.and_then(|new| new.data.iter().find(|(other, _)| other == name));
        let dtype = known.dtype();
        Ok(MoreEdgeData {
            dtype,
            array: ConvertedArray::create(Path::new("new edges"), folder, Some(dtype))?,
            listed: listed.map(|(_, table)| table.clone()),
            values: Vec::new(),
        })
    }

    /// Reads the values of a block of the listed edges.
    pub(super) fn read(&mut self, first: u64, count: usize) -> Result<()> {
        self.values.resize(count, 1.0);
        match &self.listed {
            Some(table) => table.read_f64(first..first + count as u64, &mut self.values),
            None => Ok(()),
        }
    }

    /// Appends the value of an edge of the block, or 1 for an edge that no file lists.
    pub(super) fn push(&mut self, at: Option<usize>) -> Result<()> {
        let value = at.map_or(1.0, |at| self.values[at]);
        let whole = value as i64;
        let is_whole = self.dtype.is_integer() && (whole as f64 - value).abs() <= 0.0;
        let cell = if is_whole { CellValue::Whole(whole) } else { CellValue::Real(value) };
        match (self.array.push(cell)?, &self.listed) {
            (None, _) => Ok(()),
            (Some(_), Some(table)) => Err(table.fail(format!(
                "holds {value:?}, but the edges of the graph have whole numbers of type {}",
                self.dtype
            ))),
            (Some(problem), None) => Err(Error::internal(problem)),
        }
    }

    /// The graph's array with the new values.
    pub(super) fn finish(self, known: &Table) -> Result<Table> {
        known.followed_by(self.array.finish(known.row_shape())?)
    }
}
