//! Tables with a row per node or edge.

use std::ops::Range;
use std::path::Path;

use crate::formats::dgl::{ArrayRef, blocks};
use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// A table of one array, or of several in sequence. Rows are read on request.
#[derive(Clone, Debug)]
pub struct Table {
    /// The arrays, each with its first row.
    pieces: Vec<(u64, ArrayRef)>,
    rows: u64,
}

impl Table {
    /// Concatenates arrays.
    ///
    /// # Errors
    /// If they differ in element type or row shape, or the list is empty.
    pub fn new(arrays: Vec<ArrayRef>) -> Result<Self> {
        let mut table = Table { pieces: Vec::new(), rows: 0 };
        // DGL's pipeline writes arrays without rows in another form.
        let has_rows = arrays.iter().any(|array| array.num_rows() > 0);
        for array in arrays.into_iter().filter(|array| !has_rows || array.num_rows() > 0) {
            if let Some((_, first)) = table.pieces.first()
                && (first.dtype(), first.row_shape()) != (array.dtype(), array.row_shape())
            {
                let problem = format!(
                    "has rows of {} {:?}, but the arrays before it have {} {:?}",
                    array.dtype(),
                    array.row_shape(),
                    first.dtype(),
                    first.row_shape()
                );
                return Err(array
                    .fail(problem)
                    .with_hint("all files of one name need rows of one kind"));
            }
            let first = table.rows;
            // Rows without values take no bytes, so a file can claim any number of rows.
            table.rows = match table.rows.checked_add(array.num_rows()) {
                Some(rows) => rows,
                None => return Err(array.fail("brings the number of rows above 2^64")),
            };
            table.pieces.push((first, array));
        }
        if table.pieces.is_empty() {
            return Err(Error::internal("a table of no arrays"));
        }
        Ok(table)
    }

    /// The table with the rows of an array after its own.
    pub(crate) fn followed_by(&self, more: ArrayRef) -> Result<Self> {
        let own = self.pieces.iter().map(|(_, array)| array.clone());
        Table::new(own.chain([more]).collect())
    }

    /// Number of rows.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Element type as stored in partitions, which turn truth values into `uint8`.
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

    /// Size of a row in bytes.
    pub fn row_bytes(&self) -> usize {
        // Without rows, the file does not bound a row's length.
        (self.first().row_len() as usize).saturating_mul(self.first().dtype().size())
    }

    /// Size of all rows in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.rows * self.row_bytes() as u64
    }

    /// Fills `out` with rows in stored form.
    ///
    /// # Errors
    /// If rows lie beyond the end, `out` has another size, or a file cannot be read.
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
        Err(self.fail(format!("rows {}..{} of {} were requested", rows.start, rows.end, self.rows)))
    }

    /// Fills `out` with one whole number per row.
    ///
    /// # Errors
    /// As for [`read_rows`](Self::read_rows), or if a value is not whole, or rows have several values.
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

    /// Calls `take` with each row's number and its value, a whole number.
    pub(crate) fn each_i64(&self, mut take: impl FnMut(u64, i64) -> Result<()>) -> Result<()> {
        let mut values = Vec::new();
        for rows in blocks::ranges(self.rows) {
            values.resize((rows.end - rows.start) as usize, 0);
            self.read_i64(rows.clone(), &mut values)?;
            rows.zip(&values).try_for_each(|(row, value)| take(row, *value))?;
        }
        Ok(())
    }

    /// Calls `take` with the rows of a mask that are not zero, ascending.
    pub(crate) fn members(&self, mut take: impl FnMut(u64)) -> Result<()> {
        self.each_i64(|row, value| {
            if value != 0 {
                take(row);
            }
            Ok(())
        })
    }

    /// Replaces `out` by rows converted to numbers.
    pub(crate) fn read_f64(&self, rows: Range<u64>, out: &mut Vec<f64>) -> Result<()> {
        let mut bytes = vec![0; (rows.end - rows.start) as usize * self.row_bytes()];
        out.resize(bytes.len() / self.first().dtype().size(), 0.0);
        self.read_rows(rows, &mut bytes)?;
        self.first().dtype().to_f64(&bytes, out);
        Ok(())
    }

    pub(super) fn each_f64(&self, mut take: impl FnMut(f64)) -> Result<()> {
        let mut values = Vec::new();
        for rows in blocks::ranges(self.rows) {
            self.read_f64(rows, &mut values)?;
            for value in &values {
                take(*value);
            }
        }
        Ok(())
    }

    /// One row as a separate table, with a row per value.
    pub(crate) fn row(&self, row: u64) -> Result<Self> {
        let mut pieces = self.pieces.iter().rev();
        let piece = pieces.find(|(first, _)| *first <= row);
        let array = piece.and_then(|(first, array)| {
            let (at, width) = (row - first, array.row_len());
            array.flat().rows(at * width..(at + 1) * width)
        });
        match array {
            Some(array) => Table::new(vec![array]),
            None => Err(self.fail(format!("row {row} of {} was requested", self.rows))),
        }
    }

    pub(crate) fn arrays(&self) -> impl Iterator<Item = &ArrayRef> {
        self.pieces.iter().map(|(_, array)| array)
    }

    /// Path of the file, or of the first of several.
    pub(super) fn path(&self) -> &Path {
        self.first().path()
    }

    /// An error about this table.
    pub fn fail(&self, problem: impl Into<String>) -> Error {
        self.first().fail(problem)
    }

    pub(super) fn first(&self) -> &ArrayRef {
        &self.pieces[0].1
    }
}
