//! The columns of a table, and their cells.

use crate::words::error::{Error, Result};

/// Name and type of a column.
pub(super) struct OutputColumn {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
}

/// Type of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Int32,
    Int64,
    Float32,
}

/// A cell of a row.
pub(super) enum Cell {
    /// A text, or a number of a column of [`ColumnKind::Int64`] as the user has written it.
    Text(Vec<u8>),
    Int32(i32),
    Float32(f32),
}

/// The cells of a column in some rows.
pub(super) enum OutputCells {
    Text(Vec<Vec<u8>>),
    /// Numbers of a column of [`ColumnKind::Int64`] as the user has written them, which text repeats.
    Digits(Vec<Vec<u8>>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
}

impl OutputColumn {
    pub(super) fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        OutputColumn { name: name.into(), kind }
    }

    /// A column of nodes, by their names or by their ids.
    pub(super) fn of_nodes(name: &str, named: bool) -> Self {
        OutputColumn::new(name, if named { ColumnKind::Text } else { ColumnKind::Int64 })
    }
}

impl OutputCells {
    /// No cells, for a column of this type to which [`Cell`]s are added.
    pub(super) fn empty(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Text => OutputCells::Text(Vec::new()),
            ColumnKind::Int32 => OutputCells::Int32(Vec::new()),
            ColumnKind::Int64 => OutputCells::Digits(Vec::new()),
            ColumnKind::Float32 => OutputCells::Float32(Vec::new()),
        }
    }

    /// Adds a cell.
    pub(super) fn push(&mut self, cell: Cell) -> Result<()> {
        match (self, cell) {
            (OutputCells::Text(texts) | OutputCells::Digits(texts), Cell::Text(text)) => {
                texts.push(text);
            }
            (OutputCells::Int32(numbers), Cell::Int32(number)) => numbers.push(number),
            (OutputCells::Float32(numbers), Cell::Float32(number)) => numbers.push(number),
            _ => return Err(Error::internal("a cell has another type than its column")),
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            OutputCells::Text(texts) | OutputCells::Digits(texts) => texts.len(),
            OutputCells::Int32(numbers) => numbers.len(),
            OutputCells::Int64(numbers) => numbers.len(),
            OutputCells::Float32(numbers) => numbers.len(),
        }
    }
}
