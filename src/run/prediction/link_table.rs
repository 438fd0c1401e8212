//! Tables of pairs of nodes with their scores.

use super::cells::{Cell, ColumnKind, OutputCells, OutputColumn};
use super::table_file::TableFile;
use crate::io::Destination;
use crate::run::rank::PredictionFormat;
use crate::words::error::Result;

/// Number of rows that are held until they are written.
const BLOCK: usize = 1 << 16;

/// A table that takes rows.
pub(super) struct LinkTable {
    file: TableFile,
    kinds: Vec<ColumnKind>,
    /// The cells of rows that are not written yet, by column.
    cells: Vec<OutputCells>,
    rows: usize,
}

impl LinkTable {
    /// Starts a table of these columns.
    pub(super) fn open(
        place: &Destination,
        format: PredictionFormat,
        columns: &[OutputColumn],
    ) -> Result<Self> {
        let file = TableFile::open(place, format, "links", columns)?;
        let kinds: Vec<ColumnKind> = columns.iter().map(|column| column.kind).collect();
        let cells = kinds.iter().copied().map(OutputCells::empty).collect();
        Ok(LinkTable { file, kinds, cells, rows: 0 })
    }

    /// Adds a row, with a cell for each column.
    pub(super) fn row(&mut self, row: impl IntoIterator<Item = Cell>) -> Result<()> {
        self.cells.iter_mut().zip(row).try_for_each(|(cells, cell)| cells.push(cell))?;
        self.rows += 1;
        if self.rows < BLOCK { Ok(()) } else { self.write() }
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.write()?;
        }
        self.file.finish()
    }

    fn write(&mut self) -> Result<()> {
        let next = self.kinds.iter().copied().map(OutputCells::empty).collect();
        self.rows = 0;
        self.file.rows(std::mem::replace(&mut self.cells, next))
    }
}
