//! The columns of a table, and their cells.

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
    pub(super) fn len(&self) -> usize {
        match self {
            OutputCells::Text(texts) | OutputCells::Digits(texts) => texts.len(),
            OutputCells::Int32(numbers) => numbers.len(),
            OutputCells::Int64(numbers) => numbers.len(),
            OutputCells::Float32(numbers) => numbers.len(),
        }
    }
}
