//! Rows of columns, a block at a time.

/// The rows that were read last: a list of cells per selected column.
#[derive(Debug, Default)]
pub(crate) struct CellBlock {
    pub(crate) rows: usize,
    /// The bytes of all texts.
    pub(crate) bytes: Vec<u8>,
    pub(crate) columns: Vec<Cells>,
    /// The number of each row's line, if rows are lines of a text.
    pub(crate) lines: Vec<u64>,
}

/// Location of a text in [`CellBlock::bytes`]. An empty text is a missing value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextSpan {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl TextSpan {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        TextSpan { start: start as u32, end: end as u32 }
    }

    /// The bytes there.
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }

    /// The text there.
    pub(crate) fn text_of(self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(self.of(bytes)).into_owned()
    }
}

/// Integer that represents a missing one; equal to NumPy's `NaT`.
pub(crate) const NO_NUMBER: i64 = i64::MIN;

/// Cells of a column, row by row; a list's values are consecutive.
#[derive(Debug)]
pub(crate) enum Cells {
    Text(Vec<TextSpan>),
    /// [`NO_NUMBER`] is missing.
    Whole(Vec<i64>),
    /// NaN is missing.
    Real(Vec<f64>),
}

impl CellBlock {
    /// Makes room for other rows.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.bytes.clear();
        self.lines.clear();
        self.columns.clear();
    }

    /// Appends a text, and returns its place.
    pub(crate) fn add_text(&mut self, text: &[u8]) -> TextSpan {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        TextSpan::new(start, self.bytes.len())
    }
}
