//! A prediction as a table: a row per node with its id or name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::columns::{TableColumns, TableFile, TableRows};
use super::csv::CsvTable;
use super::node_space::{NodeNameLines, NodeSpace};
use super::parquet::ParquetTable;
use crate::error::{Error, Result};
use crate::io::AtomicFile;
use crate::platform::signals;
use crate::run::rank::{PredictConfig, PredictionFormat};

/// Bytes of rows that are held at a time.
const BLOCK: usize = 4 << 20;
/// Most rows that are held at a time: names are held with them.
const MOST_ROWS: usize = 64 << 10;

/// What the user calls the nodes of the rows, in the order of rows.
pub(super) enum NodeLabels {
    /// All names, or those of some places, ascending.
    Names(NodeNameLines, Option<Vec<u64>>),
    /// Names as a list has them.
    Listed(Vec<Vec<u8>>),
    /// Consecutive ids, or some.
    Ids(Option<Vec<u64>>),
}

/// Makes a table of the rows that the ranks have written.
pub(super) fn write_table(
    rows: &Path,
    config: &PredictConfig,
    format: PredictionFormat,
    columns: &TableColumns,
    mut labels: NodeLabels,
) -> Result<()> {
    let unreadable = |e| Error::io("read", rows, e);
    let mut file = File::open(rows).map_err(unreadable)?;
    let row_bytes = columns.form.row_bytes() as u64;
    let total = file.metadata().map_err(unreadable)?.len() / row_bytes.max(1);
    let out = AtomicFile::create(&config.output)?;
    let mut table: Box<dyn TableFile> = match format {
        PredictionFormat::Parquet => Box::new(ParquetTable::new(out, &config.output, columns)?),
        _ => Box::new(CsvTable::new(out, &config.output, columns)?),
    };
    let at_once = (BLOCK as u64 / row_bytes.max(1)).clamp(1, MOST_ROWS as u64);
    let mut done = 0;
    while done < total {
        signals::check()?;
        let count = at_once.min(total - done);
        let mut values = vec![0; (count * row_bytes) as usize];
        file.read_exact(&mut values).map_err(unreadable)?;
        let (ids, names) = labels.of_rows(done, count)?;
        table.rows(columns, &TableRows { ids, names, values })?;
        done += count;
    }
    table.finish()
}

impl NodeLabels {
    /// The labels of nodes of a selection in ascending order, or of all nodes.
    pub(super) fn ascending(space: &NodeSpace<'_>, places: Option<Vec<u64>>) -> Self {
        if space.has_names() {
            NodeLabels::Names(space.names(), places)
        } else {
            NodeLabels::Ids(places)
        }
    }

    /// Ids or names of some rows; rows are asked for one after the other.
    fn of_rows(&mut self, first: u64, count: u64) -> Result<(Vec<u64>, Vec<Vec<u8>>)> {
        let rows = first..first + count;
        let range = first as usize..(first + count) as usize;
        Ok(match self {
            NodeLabels::Ids(None) => (rows.collect(), Vec::new()),
            NodeLabels::Ids(Some(ids)) => (ids[range].to_vec(), Vec::new()),
            NodeLabels::Listed(words) => (Vec::new(), words[range].to_vec()),
            NodeLabels::Names(lines, places) => {
                let mut names = Vec::with_capacity(count as usize);
                for row in rows {
                    let place = places.as_ref().map_or(row, |places| places[row as usize]);
                    while lines.count() < place {
                        lines.advance()?;
                    }
                    names.push(lines.advance()?.to_vec());
                }
                (Vec::new(), names)
            }
        })
    }
}
