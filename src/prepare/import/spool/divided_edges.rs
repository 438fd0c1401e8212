//! Edges by type, with their data and masks.

use std::path::{Path, PathBuf};

use super::record::{EDGE, VALUE, ends_of, value_of};
use crate::error::{Error, Result};
use crate::formats::dgl::array_file::ArrayFile;
use crate::graph::CanonicalEtype;
use crate::io::{BucketSpool, Dtype};
use crate::prepare::import::graph::RawEdgeWriter;
use crate::prepare::import::tables::{ConvertedArray, TRAIN_MASK, Table};

/// A column of edge data, with values of one type for all edges.
pub(super) struct DataColumn {
    pub(super) name: String,
    /// Whether all values so far are whole.
    pub(super) is_whole: bool,
    /// Whether single precision would make some of them equal.
    pub(super) needs_double: bool,
}

impl DataColumn {
    /// A column without values so far.
    pub(super) fn new(name: &str) -> Self {
        DataColumn { name: name.to_owned(), is_whole: true, needs_double: false }
    }

    fn dtype(&self) -> Dtype {
        match (self.is_whole, self.needs_double) {
            (true, _) => Dtype::I64,
            (false, true) => Dtype::F64,
            (false, false) => Dtype::F32,
        }
    }
}

/// Edges by type.
pub(crate) struct DividedEdges {
    pub(super) edges: BucketSpool,
    pub(crate) types: Vec<CanonicalEtype>,
    pub(super) columns: Vec<DataColumn>,
    /// Names of the masks, in the order of their numbers from 1 on.
    pub(super) masks: Vec<String>,
    pub(super) folder: PathBuf,
}

impl DividedEdges {
    /// The number of a type; `None` if there are no such edges.
    pub(crate) fn find(&self, etype: &CanonicalEtype) -> Option<usize> {
        self.types.iter().position(|known| known == etype)
    }

    /// Writes the edges of a type, and returns their data and masks. Errors about these name `path`.
    pub(crate) fn write(
        &self,
        etype: usize,
        out: &mut RawEdgeWriter,
        path: &Path,
    ) -> Result<Vec<(String, Table)>> {
        let array =
            |column: &DataColumn| ConvertedArray::create(path, &self.folder, Some(column.dtype()));
        let mut arrays = self.columns.iter().map(array).collect::<Result<Vec<_>>>()?;
        let rest = (!self.masks.is_empty() && self.masks.iter().all(|mask| mask != TRAIN_MASK))
            .then_some(0);
        let numbers: Vec<u8> = rest.into_iter().chain(1..=self.masks.len() as u8).collect();
        let mask = |_| ArrayFile::create(&self.folder);
        let mut masks = numbers.iter().map(mask).collect::<Result<Vec<_>>>()?;
        let size = EDGE + self.columns.len() * VALUE;
        self.edges.read(etype, |records| {
            for record in records.chunks_exact(size) {
                let [source, target] = ends_of(record);
                out.push(source, target)?;
                for (file, number) in masks.iter_mut().zip(&numbers) {
                    file.write(&[u8::from(record[EDGE - 1] == *number)])?;
                }
                let values = record[EDGE..].as_chunks::<VALUE>().0;
                for (array, value) in arrays.iter_mut().zip(values) {
                    if let Some(problem) = array.push(value_of(*value))? {
                        return Err(Error::internal(problem));
                    }
                }
            }
            Ok(())
        })?;
        let rows = self.edges.num_records(etype);
        let mut data = Vec::new();
        for (column, array) in self.columns.iter().zip(arrays) {
            data.push((column.name.clone(), Table::new(vec![array.finish(&[])?])?));
        }
        let names =
            rest.map(|_| TRAIN_MASK.to_owned()).into_iter().chain(self.masks.iter().cloned());
        for (name, file) in names.zip(masks) {
            data.push((name, Table::new(vec![file.finish(path, Dtype::U8, vec![rows])?])?));
        }
        Ok(data)
    }
}
