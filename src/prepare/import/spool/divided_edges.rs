//! Edges by type, with data and masks.

use std::path::{Path, PathBuf};

use super::listed_edges::ListedEdges;
use super::record::{VALUE, value_of};
use crate::formats::dgl::array_file::ArrayFile;
use crate::graph::CanonicalEtype;
use crate::io::{BucketSpool, Dtype};
use crate::load::MASKS;
use crate::prepare::import::graph::{ENDS, RawEdgeWriter, ends_of};
use crate::prepare::import::tables::{ConvertedArray, Table};
use crate::words::error::{Error, Result};

/// A column of edge data, whose values have one type for all edges.
pub(super) struct DataColumn {
    pub(super) name: String,
    /// Whether all values so far are whole.
    pub(super) is_whole: bool,
    /// Whether single precision would make some values equal.
    pub(super) needs_double: bool,
}

impl DataColumn {
    /// A column without values.
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
    /// Edges that splits list, if any.
    pub(super) listed: Option<ListedEdges>,
    pub(super) folder: PathBuf,
}

impl DividedEdges {
    /// The number of a type; `None` if it has no edge.
    pub(crate) fn find(&self, etype: &CanonicalEtype) -> Option<usize> {
        self.types.iter().position(|known| known == etype)
    }

    /// A note on splits that list edges, once all edges have been written.
    pub(crate) fn note(&self) -> Option<String> {
        self.listed.as_ref().map(ListedEdges::note)
    }

    /// Writes a type's edges, followed by those that only splits list; returns their data and masks. Errors about the
    /// data name `path`.
    pub(crate) fn write(
        &mut self,
        etype: usize,
        out: &mut RawEdgeWriter,
        path: &Path,
    ) -> Result<Vec<(String, Table)>> {
        let DividedEdges { edges, columns, listed, folder, .. } = self;
        let array =
            |column: &DataColumn| ConvertedArray::create(path, folder, Some(column.dtype()));
        let mut arrays = columns.iter().map(array).collect::<Result<Vec<_>>>()?;
        let mut names = listed.as_ref().map_or(Vec::new(), |listed| listed.masks.clone());
        let rest = !names.is_empty() && names.iter().all(|mask| mask != MASKS[0]);
        let numbers: Vec<u8> = (u8::from(!rest)..=names.len() as u8).collect();
        names.splice(0..0, rest.then(|| MASKS[0].to_owned()));
        let masks = numbers.iter().map(|_| ArrayFile::create(folder));
        let mut masks = masks.collect::<Result<Vec<_>>>()?;
        let mut write = |[source, target]: [u64; 2], mask| {
            out.push(source, target)?;
            let mut files = masks.iter_mut().zip(&numbers);
            files.try_for_each(|(file, number)| file.write(&[u8::from(mask == *number)]))
        };
        edges.read(etype, |records| {
            for record in records.chunks_exact(ENDS + columns.len() * VALUE) {
                let Some((ends, values)) = record.split_first_chunk() else { continue };
                let ends = ends_of(ends);
                write(ends, listed.as_mut().map_or(0, |listed| listed.find(etype as u32, ends)))?;
                for (array, value) in arrays.iter_mut().zip(values.as_chunks::<VALUE>().0) {
                    if let Some(problem) = array.push(value_of(*value))? {
                        return Err(Error::internal(problem));
                    }
                }
            }
            Ok(())
        })?;
        let mut rows = edges.num_records(etype);
        if let Some(listed) = listed {
            rows += listed.others(etype as u32, |ends, mask| match columns.first() {
                Some(DataColumn { name, .. }) => {
                    let problem = "edges that only a split lists have no edge data";
                    Err(Error::config("split", problem)
                        .with_hint(format!("list them in the files of edges, too, with {name}")))
                }
                None => write(ends, mask),
            })?;
        }
        let mut data = Vec::new();
        for (column, array) in columns.iter().zip(arrays) {
            data.push((column.name.clone(), Table::new(vec![array.finish(&[])?])?));
        }
        for (name, file) in names.into_iter().zip(masks) {
            data.push((name, Table::new(vec![file.finish(path, Dtype::U8, vec![rows])?])?));
        }
        Ok(data)
    }
}
