//! Tables with a row per node or edge.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::io::Dtype;

/// One array, or several that continue each other. Rows are read when they are asked for.
#[derive(Clone, Debug)]
pub struct Table {
    /// Arrays with their first row.
    pieces: Vec<(u64, ArrayRef)>,
    rows: u64,
}

impl Table {
    /// Lays arrays one after the other.
    ///
    /// # Errors
    /// They differ in element type or row shape, or there is none.
    pub fn new(arrays: Vec<ArrayRef>) -> Result<Self> {
        let mut table = Table { pieces: Vec::new(), rows: 0 };
        for array in arrays {
            if let Some((_, first)) = table.pieces.first()
                && (first.dtype(), first.row_shape()) != (array.dtype(), array.row_shape())
            {
                let problem = format!(
                    "has rows of {} {:?}, but those before it {} {:?}",
                    array.dtype(),
                    array.row_shape(),
                    first.dtype(),
                    first.row_shape()
                );
                return Err(array.fail(problem));
            }
            let first = table.rows;
            // Rows without values take no bytes, so that a file can claim any number of them.
            table.rows = match table.rows.checked_add(array.num_rows()) {
                Some(rows) => rows,
                None => return Err(array.fail("brings the number of rows above 2^64")),
            };
            table.pieces.push((first, array));
        }
        if table.pieces.is_empty() {
            return Err(Error::Internal("a table of no arrays".to_owned()));
        }
        Ok(table)
    }

    /// Number of rows.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Element type, as it is stored in partitions: truth values become `uint8`.
    pub fn dtype(&self) -> Dtype {
        match self.first().dtype() {
            Dtype::Bool => Dtype::U8,
            other => other,
        }
    }

    /// Dimensions of a row.
    pub fn row_shape(&self) -> &[u64] {
        self.first().row_shape()
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        // Without rows the length of one is not bounded by the file.
        (self.first().row_len() as usize).saturating_mul(self.first().dtype().size())
    }

    /// Fills `out` with rows as they are stored.
    ///
    /// # Errors
    /// Rows beyond the end, an `out` of another size, an unreadable file.
    pub fn read_rows(&self, rows: Range<u64>, mut out: &mut [u8]) -> Result<()> {
        let row_bytes = self.row_bytes();
        for (first, array) in &self.pieces {
            let start = rows.start.max(*first);
            let end = rows.end.min(first + array.num_rows());
            if start < end {
                let (here, rest) = out.split_at_mut((end - start) as usize * row_bytes);
                array.read_rows(start - first..end - first, here)?;
                out = rest;
            }
        }
        if out.is_empty() {
            return Ok(());
        }
        Err(self.fail(format!("rows {}..{} of {} were asked for", rows.start, rows.end, self.rows)))
    }

    /// Fills `out` with one whole number per row.
    ///
    /// # Errors
    /// As [`read_rows`](Self::read_rows); a value that is not whole, or rows of several values.
    pub fn read_i64(&self, rows: Range<u64>, out: &mut [i64]) -> Result<()> {
        let mut bytes = vec![0; out.len() * self.row_bytes()];
        self.read_rows(rows.clone(), &mut bytes)?;
        let dtype = self.first().dtype();
        if bytes.len() != out.len() * dtype.size() {
            return Err(self.fail(format!("has rows of {:?}, not of one value", self.row_shape())));
        }
        dtype.to_i64(&bytes, out).map_err(|at| {
            self.fail(format!("row {} holds a value that is not whole", rows.start + at as u64))
        })
    }

    /// An error about this table.
    pub fn fail(&self, problem: impl Into<String>) -> Error {
        self.first().fail(problem)
    }

    fn first(&self) -> &ArrayRef {
        &self.pieces[0].1
    }
}
