//! Data of new edges, in the types of the graph's.

use std::path::Path;

use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::array_file::ArrayFile;
use crate::io::Dtype;
use crate::prepare::import::{EdgeType, Table};
use crate::words::error::{Error, Result};

/// An array of edge data, with the values of new edges.
pub(super) struct MoreEdgeData {
    dtype: Dtype,
    row_shape: Vec<u64>,
    file: ArrayFile,
    count: u64,
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
        Ok(MoreEdgeData {
            dtype: known.dtype(),
            row_shape: known.row_shape().to_vec(),
            file: ArrayFile::create(folder)?,
            count: 0,
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
        let (mut bytes, size) = ([0; 8], self.dtype.size());
        match self.dtype {
            Dtype::F64 => bytes = value.to_le_bytes(),
            dtype if dtype.is_integer() => {
                bytes = (value as i64).to_le_bytes();
                let mut kept = [0];
                let is_read = dtype.to_i64(&bytes[..size], &mut kept).is_ok();
                let is_same = value.fract() == 0.0 && (kept[0] as f64 - value).abs() <= 0.0;
                if !is_read || !is_same {
                    let problem = format!(
                        "holds {value:?}, but the edges of the graph have whole numbers of type {dtype}"
                    );
                    return Err(self.listed.as_ref().map_or_else(
                        || Error::internal("edge data of no file"),
                        |table| table.fail(problem),
                    ));
                }
            }
            dtype => dtype.from_f32(&[value as f32], &mut bytes[..size]),
        }
        self.count += 1;
        self.file.write(&bytes[..size])
    }

    /// The graph's array with the new values.
    pub(super) fn finish(self, known: &Table) -> Result<Table> {
        let shape = [&[self.count], &self.row_shape[..]].concat();
        let more: ArrayRef = self.file.finish(Path::new("new edges"), self.dtype, shape)?;
        known.followed_by(more)
    }
}
