//! Tables as files.

use super::cells::{Cell, ColumnKind, OutputCells, OutputColumn};
use super::csv::CsvTable;
use super::parquet::ParquetTable;
use crate::io::Destination;
use crate::run::rank::PredictionFormat;
use crate::words::error::Result;

/// Number of single rows that are held until they are written.
const BLOCK: usize = 1 << 16;

/// A table that is being written.
pub(super) struct TableFile {
    writer: TableWriter,
    kinds: Vec<ColumnKind>,
    /// The cells of single rows that are not written yet, by column.
    cells: Vec<OutputCells>,
}

enum TableWriter {
    Csv(CsvTable),
    Parquet(Box<ParquetTable>),
}

impl TableFile {
    /// Starts a table of these columns; Parquet files have a name inside.
    pub(super) fn open(
        place: &Destination,
        format: PredictionFormat,
        name: &str,
        columns: &[OutputColumn],
    ) -> Result<Self> {
        let out = place.open()?;
        let writer = match format {
            PredictionFormat::Parquet => {
                TableWriter::Parquet(Box::new(ParquetTable::new(out, name, columns)?))
            }
            _ => TableWriter::Csv(CsvTable::new(out, columns)?),
        };
        let kinds: Vec<ColumnKind> = columns.iter().map(|column| column.kind).collect();
        let cells = kinds.iter().copied().map(OutputCells::empty).collect();
        Ok(TableFile { writer, kinds, cells })
    }

    /// Writes some rows, which are a group of rows in a Parquet file.
    pub(super) fn rows(&mut self, columns: Vec<OutputCells>) -> Result<()> {
        match &mut self.writer {
            TableWriter::Csv(table) => table.rows(&columns),
            TableWriter::Parquet(table) => table.rows(columns),
        }
    }

    /// Adds a single row, with a cell for each column.
    pub(super) fn row(&mut self, row: impl IntoIterator<Item = Cell>) -> Result<()> {
        self.cells.iter_mut().zip(row).try_for_each(|(cells, cell)| cells.push(cell))?;
        self.write_from(BLOCK)
    }

    /// Writes the single rows if there are at least this many.
    fn write_from(&mut self, least: usize) -> Result<()> {
        if self.cells.first().map_or(0, OutputCells::len) < least {
            return Ok(());
        }
        let next = self.kinds.iter().copied().map(OutputCells::empty).collect();
        let cells = std::mem::replace(&mut self.cells, next);
        self.rows(cells)
    }

    /// Ends the table and gives the file its name.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write_from(1)?;
        match self.writer {
            TableWriter::Csv(table) => table.finish(),
            TableWriter::Parquet(table) => table.finish(),
        }
    }
}
