//! Ids that nodes and edges had before the graph was partitioned.

use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::blocks;
use crate::formats::dgl::tensor_file::TensorFile;
use crate::words::error::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// The original type-wise ids of the inner nodes or edges of one type, in the order of feature rows.
#[derive(Clone, Debug)]
pub struct OriginalIds {
    rows: u64,
    column: ArrayRef,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// Consecutive rows of the column, starting with this one.
    From(u64),
    /// Selected rows of the column.
    Picked(Vec<u64>),
}

impl OriginalIds {
    /// `rows` consecutive rows of `column`.
    pub(crate) fn column(column: &ArrayRef, first: u64, rows: u64) -> Self {
        OriginalIds { rows, column: column.clone(), source: Source::From(first) }
    }

    /// The rows of `column` for which `pick` is true; they are kept in memory.
    pub(crate) fn pick(
        column: &ArrayRef,
        mut pick: impl FnMut(Range<u64>) -> Result<Vec<bool>>,
    ) -> Result<Self> {
        let (mut kept, mut block) = (Vec::new(), Vec::new());
        for rows in blocks::ranges(column.num_rows()) {
            blocks::read(column, rows.clone(), &mut block)?;
            let picked = pick(rows)?;
            kept.extend(block.iter().zip(picked).filter(|(_, keep)| *keep).map(|(&id, _)| id));
        }
        let (rows, column) = (kept.len() as u64, column.clone());
        Ok(OriginalIds { rows, column, source: Source::Picked(kept) })
    }

    /// The ids of one type from `orig_nids.dgl` or `orig_eids.dgl`.
    pub(crate) fn from_file(path: &Path, key: &str, rows: u64) -> Result<Self> {
        let file = TensorFile::open(path)?;
        let array = file.get(key).ok_or_else(|| Error::input(path, key, "is missing"))?;
        if array.shape() != [rows] || !array.dtype().is_integer() {
            let (dtype, shape) = (array.dtype(), array.shape());
            return Err(array.fail(format!("must hold {rows} ids, but is {dtype} {shape:?}")));
        }
        Ok(Self::column(array, 0, rows))
    }

    /// Number of ids.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// An error in the file that holds the ids.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        self.column.fail(problem)
    }

    /// Fills `out` with the ids of a range of rows.
    ///
    /// # Errors
    /// If rows lie beyond the end, `out` has another length, the file cannot be read, or an id is negative.
    pub fn read(&self, rows: Range<u64>, out: &mut [u64]) -> Result<()> {
        let count = rows.end.checked_sub(rows.start).filter(|_| rows.end <= self.rows);
        if count != Some(out.len() as u64) {
            return Err(Error::internal(format!(
                "original ids {}..{} of {} into {} places",
                rows.start,
                rows.end,
                self.rows,
                out.len()
            )));
        }
        match &self.source {
            Source::From(first) => self.column.read_u64(first + rows.start..first + rows.end, out),
            Source::Picked(ids) => {
                out.copy_from_slice(&ids[rows.start as usize..rows.end as usize]);
                Ok(())
            }
        }
    }
}
