//! Sparse matrices, read as edges from each value's row to its column, or as tables with 0 for absent values.

use super::block::{CellBlock, Cells};
use super::input::Input;
use super::look::{Ask, Column, Form, GraphFacts, Opened, Reader, Wants};
use super::sample::MOST_COLUMNS;
use crate::io::{Dtype, ExternalSort, SortedRows};
use crate::words::error::{Error, Result};

/// Number of values per block.
const BLOCK: usize = 1 << 16;

/// Bytes of memory for sorting a table's values.
const SORT: u64 = 64 << 20;

/// Largest number of table places per value of the matrix; a damaged file may claim any number of rows.
const SPARSEST: u64 = 1 << 12;
/// Number of places up to which a table may be arbitrarily empty.
const FEW: u64 = 1 << 20;

/// Whole numbers from this size on may be inexact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A value of a matrix. Rows and columns count from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct SparseValue {
    pub(super) row: u64,
    pub(super) column: u64,
    pub(super) value: f64,
}

/// The values of a matrix, in sequence.
pub(super) trait SparseValues {
    /// The next value.
    fn next(&mut self) -> Result<Option<SparseValue>>;

    /// An error about the last value.
    fn fail(&self, problem: String) -> Error;

    /// Approximate number of bytes of the file read so far.
    fn bytes_read(&self) -> u64;
}

pub(super) struct SparseMatrix {
    pub(super) rows: u64,
    pub(super) columns: u64,
    /// Number of values that the file announces.
    pub(super) count: u64,
    /// Type of the values; `None` if only their places matter.
    pub(super) dtype: Option<Dtype>,
    /// Whether the matrix equals its transpose.
    pub(super) symmetric: bool,
    pub(super) values: Box<dyn SparseValues>,
}

impl SparseMatrix {
    /// Opens the matrix as a file, called `kind` in notes.
    pub(super) fn open(self, kind: &str, input: &Input, ask: &Ask<'_>) -> Result<Opened> {
        let (rows, columns) = (self.rows, self.columns);
        let kind = format!("{kind}, {rows} x {columns}");
        let is_table = ask.wants != Wants::Edges;
        let places = if is_table { rows.saturating_mul(columns) } else { rows.max(columns) };
        if places > self.count.saturating_mul(SPARSEST).saturating_add(FEW) {
            let problem = format!("holds {} values of {rows} x {columns}", self.count);
            return Err(input.fail(problem).with_hint("leave out rows and columns without values"));
        }
        if is_table { self.table(kind, input, ask) } else { Ok(self.edges(kind, ask)) }
    }

    /// The next value, checked to lie inside the matrix.
    fn next(&mut self) -> Result<Option<SparseValue>> {
        let Some(found) = self.values.next()? else { return Ok(None) };
        let SparseValue { row, column, value } = found;
        if row >= self.rows || column >= self.columns {
            return Err(self.values.fail("lies outside the matrix".to_owned()));
        }
        if is_whole(self.dtype) && value.abs() >= EXACT {
            return Err(self.values.fail(format!("{value} is not below 2^53")));
        }
        Ok(Some(found))
    }

    /// One row per value. The values become a column if they have a name.
    fn edges(self, mut kind: String, ask: &Ask<'_>) -> Opened {
        let mut columns = Column::ends(&Form::Number(Dtype::I64));
        match self.dtype {
            Some(dtype) if !ask.names.is_empty() => {
                columns.push(Column::new("", Form::Number(dtype)));
            }
            Some(_) => kind += "; its values are left out, ‹edge_columns=NAME› keeps them",
            None => {}
        }
        let is_square = self.rows == self.columns;
        let facts = GraphFacts {
            nodes: Some([self.rows, self.columns]),
            both_directions: self.symmetric,
            two_kinds: (!is_square).then(|| format!("{} x {}", self.rows, self.columns)),
            ..GraphFacts::default()
        };
        Opened { named: false, facts, unit: "edge", ..Opened::new(columns, &kind, Box::new(self)) }
    }

    /// One row per row of the matrix.
    fn table(mut self, kind: String, input: &Input, ask: &Ask<'_>) -> Result<Opened> {
        if self.columns > MOST_COLUMNS as u64 {
            let problem = format!("a row has more than {MOST_COLUMNS} columns");
            return Err(input.fail(problem).with_hint("leave out columns that few rows have"));
        }
        let mut sort = ExternalSort::new(ask.folder, [self.rows, self.columns, u64::MAX], SORT)?;
        while let Some(SparseValue { row, column, value }) = self.next()? {
            sort.push([row, column, value.to_bits()])?;
        }
        let bytes = self.values.bytes_read();
        let width = self.columns as usize;
        let dtype = self.dtype.unwrap_or(Dtype::F32);
        let columns = vec![Column { width: Some(width), ..Column::new("", Form::Number(dtype)) }];
        let is_whole = is_whole(Some(dtype));
        let mut reader = RowReader {
            sorted: sort.finish()?,
            head: None,
            next: 0,
            rows: self.rows,
            width,
            is_whole,
            bytes,
        };
        reader.head = reader.next_value()?;
        Ok(Opened { named: false, ..Opened::new(columns, &kind, Box::new(reader)) })
    }
}

fn is_whole(dtype: Option<Dtype>) -> bool {
    dtype.is_some_and(Dtype::is_integer)
}

/// Numbers as cells.
fn cells(values: impl Iterator<Item = f64>, is_whole: bool) -> Cells {
    if is_whole {
        Cells::Whole(values.map(|value| value as i64).collect())
    } else {
        Cells::Real(values.collect())
    }
}

/// The edges.
impl Reader for SparseMatrix {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let mut read = Vec::new();
        while read.len() < BLOCK {
            let Some(value) = self.next()? else { break };
            read.push(value);
        }
        block.rows = read.len();
        block.columns.extend(columns.iter().map(|column| match column {
            0 => Cells::Whole(read.iter().map(|value| value.row as i64).collect()),
            1 => Cells::Whole(read.iter().map(|value| value.column as i64).collect()),
            _ => cells(read.iter().map(|value| value.value), is_whole(self.dtype)),
        }));
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.values.bytes_read()
    }
}

/// Reader of a table's rows.
struct RowReader {
    sorted: SortedRows<3>,
    /// The first value without a place yet.
    head: Option<SparseValue>,
    /// The next row.
    next: u64,
    rows: u64,
    width: usize,
    is_whole: bool,
    /// Size of the file in bytes.
    bytes: u64,
}

impl RowReader {
    fn next_value(&mut self) -> Result<Option<SparseValue>> {
        let value = |[row, column, bits]: [u64; 3]| {
            let value = f64::from_bits(bits);
            SparseValue { row, column, value }
        };
        Ok(self.sorted.next()?.map(value))
    }
}

impl Reader for RowReader {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let first = self.next;
        let most = (BLOCK / self.width.max(1)).max(1) as u64;
        self.next = self.rows.min(first + most);
        block.rows = (self.next - first) as usize;
        let mut values = vec![0.0; block.rows * self.width];
        while let Some(value) = self.head.filter(|value| value.row < self.next) {
            // Values at the same place are added, as in SciPy.
            values[(value.row - first) as usize * self.width + value.column as usize] +=
                value.value;
            self.head = self.next_value()?;
        }
        let cells = |_| cells(values.iter().copied(), self.is_whole);
        block.columns.extend(columns.iter().map(cells));
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.bytes
    }
}
