//! The arrays of a data set.

use std::fs;
use std::iter;
use std::path::Path;

use super::npy_file::NpyFile;
use super::torch_rows::TorchRows;
use crate::io::Dtype;
use crate::prepare::import::Table;
use crate::prepare::partition::{Meter, RowScatter};
use crate::words::error::{Error, Result};

/// Maximum length of a name in the name of a file.
const MAX_NAME: usize = 100;

/// A folder that is being filled with arrays of NumPy. They are named by their paths in the data set.
pub(super) struct ExportedArrays<'a, 'm, 'o> {
    /// Folder of the data set.
    folder: &'a Path,
    count: usize,
    /// Memory for the rows of a table.
    memory: u64,
    meter: Meter<'m, 'o>,
}

impl<'a, 'm, 'o> ExportedArrays<'a, 'm, 'o> {
    /// Name of the folder.
    const FOLDER: &'static str = "data";

    /// Creates the folder. `meter` counts the bytes that are read.
    pub(super) fn create(folder: &'a Path, memory: u64, meter: Meter<'m, 'o>) -> Result<Self> {
        let own = folder.join(Self::FOLDER);
        fs::create_dir(&own).map_err(|e| Error::io("create", &own, e))?;
        Ok(ExportedArrays { folder, count: 0, memory, meter })
    }

    /// Writes an `int64` array of this shape, whose elements `fill` passes block by block.
    pub(super) fn ids(
        &mut self,
        name: &str,
        shape: &[u64],
        fill: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
    ) -> Result<String> {
        let (path, mut file) = self.open(name, Dtype::I64, shape)?;
        fill(&mut |ids| {
            self.meter.add(size_of_val(ids) as u64)?;
            ids.iter().try_for_each(|id| file.write(&id.to_le_bytes()))
        })?;
        file.finish()?;
        Ok(path)
    }

    /// Writes the rows of a table in their order.
    pub(super) fn rows(&mut self, name: &str, table: &Table) -> Result<String> {
        let mut rows = TorchRows::of(table);
        let (path, mut file) = self.open(name, rows.dtype(), &shape(table.num_rows(), table))?;
        while let Some((_, block)) = rows.next_block()? {
            self.meter.add(block.len() as u64)?;
            file.write(block)?;
        }
        file.finish()?;
        Ok(path)
    }

    /// Writes the `count` rows of a table that have a place, in the order of places.
    pub(super) fn moved_rows(
        &mut self,
        name: &str,
        table: &Table,
        count: u64,
        place: impl Fn(u64) -> Option<u64>,
    ) -> Result<String> {
        let mut rows = TorchRows::of(table);
        let (path, mut file) = self.open(name, rows.dtype(), &shape(count, table))?;
        let row_bytes = rows.row_bytes();
        let mut scatter =
            RowScatter::create(self.folder, row_bytes, iter::once(count), self.memory)?;
        while let Some((block, bytes)) = rows.next_block()? {
            self.meter.add(bytes.len() as u64)?;
            for (at, row) in block.enumerate() {
                if let Some(place) = place(row) {
                    scatter.push(place, &bytes[at * row_bytes..][..row_bytes])?;
                }
            }
        }
        scatter.finish()?;
        scatter.read(0, |rows| file.write(rows))?;
        file.finish()?;
        Ok(path)
    }

    /// Creates an array; returns its path in the data set.
    fn open(&mut self, name: &str, dtype: Dtype, shape: &[u64]) -> Result<(String, NpyFile)> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
        let name: String = name.chars().map(plain).take(MAX_NAME).collect();
        let path = format!("{}/{}-{name}.npy", Self::FOLDER, self.count);
        self.count += 1;
        let file = NpyFile::create(&self.folder.join(&path), dtype, shape)?;
        Ok((path, file))
    }
}

/// The shape of `count` rows of a table.
fn shape(count: u64, table: &Table) -> Vec<u64> {
    iter::once(count).chain(table.row_shape().iter().copied()).collect()
}
