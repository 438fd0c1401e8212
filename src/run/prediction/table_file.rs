//! Tables as files.

use super::cells::{OutputCells, OutputColumn};
use super::csv::CsvTable;
use super::parquet::ParquetTable;
use crate::io::Destination;
use crate::run::rank::PredictionFormat;
use crate::words::error::Result;

/// A table that is being written.
pub(super) enum TableFile {
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
        Ok(match format {
            PredictionFormat::Parquet => {
                TableFile::Parquet(Box::new(ParquetTable::new(out, name, columns)?))
            }
            _ => TableFile::Csv(CsvTable::new(out, columns)?),
        })
    }

    /// Writes some rows, which are a group of rows in a Parquet file.
    pub(super) fn rows(&mut self, columns: Vec<OutputCells>) -> Result<()> {
        match self {
            TableFile::Csv(table) => table.rows(&columns),
            TableFile::Parquet(table) => table.rows(columns),
        }
    }

    /// Ends the table and gives the file its name.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            TableFile::Csv(table) => table.finish(),
            TableFile::Parquet(table) => table.finish(),
        }
    }
}
