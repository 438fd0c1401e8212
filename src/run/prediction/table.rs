//! A prediction as a table: a row per node with its id or name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::columns::{TableColumns, TableRows};
use super::node_space::{NodeNameLines, NodeSpace};
use super::table_file::TableFile;
use super::words::Words;
use crate::io::Destination;
use crate::platform::signals;
use crate::run::rank::PredictionFormat;
use crate::words::error::{Error, Result};

/// Bytes of rows that are held at a time.
const BLOCK: usize = 4 << 20;
/// Most rows that are held at a time: names are held with them.
const MOST_ROWS: usize = 64 << 10;

/// The user's names of the nodes, in the order of rows.
pub(super) enum NodeLabels {
    /// All names, or those of some places, ascending.
    Names(NodeNameLines, Option<Vec<u64>>),
    /// Names as a list has them, and the places of these nodes.
    Listed(Words, Vec<u64>),
    /// Consecutive ids, or some.
    Ids(Option<Vec<u64>>),
}

/// Makes a table of the rows that the ranks have written.
pub(super) fn write_table(
    rows: &Path,
    place: &Destination,
    format: PredictionFormat,
    columns: &TableColumns,
    space: &NodeSpace<'_>,
    mut labels: NodeLabels,
) -> Result<()> {
    let unreadable = |e| Error::io("read", rows, e);
    let mut file = File::open(rows).map_err(unreadable)?;
    let row_bytes = columns.form.row_bytes() as u64;
    let total = file.metadata().map_err(unreadable)?.len() / row_bytes.max(1);
    let mut table = TableFile::open(place, format, "prediction", &columns.columns())?;
    let at_once = (BLOCK as u64 / row_bytes.max(1)).clamp(1, MOST_ROWS as u64);
    let mut done = 0;
    while done < total {
        signals::check()?;
        let count = at_once.min(total - done);
        let mut values = vec![0; (count * row_bytes) as usize];
        file.read_exact(&mut values).map_err(unreadable)?;
        let names = labels.names(done, count)?;
        let (types, ids) = space.per_type(labels.places(done, count))?;
        table.rows(columns.cells(TableRows { ids, names, types, values })?)?;
        done += count;
    }
    table.finish()
}

impl NodeLabels {
    /// The labels of all nodes, of those at some places, or of those that a list calls by these words.
    pub(super) fn new(
        space: &NodeSpace<'_>,
        places: Option<Vec<u64>>,
        words: Option<Words>,
    ) -> Self {
        match (words, places) {
            (_, places) if !space.has_names() => NodeLabels::Ids(places),
            (Some(words), Some(places)) => NodeLabels::Listed(words, places),
            (_, places) => NodeLabels::Names(space.names(), places),
        }
    }

    /// The places of the nodes of some rows.
    fn places(&self, first: u64, count: u64) -> Vec<u64> {
        match self {
            NodeLabels::Ids(None) | NodeLabels::Names(_, None) => (first..first + count).collect(),
            NodeLabels::Ids(Some(places))
            | NodeLabels::Names(_, Some(places))
            | NodeLabels::Listed(_, places) => {
                places[first as usize..(first + count) as usize].to_vec()
            }
        }
    }

    /// Names of some rows, if nodes have names; rows are asked for one after the other.
    fn names(&mut self, first: u64, count: u64) -> Result<Vec<Vec<u8>>> {
        let places = self.places(first, count);
        match self {
            NodeLabels::Ids(_) => Ok(Vec::new()),
            NodeLabels::Listed(words, _) => {
                Ok((first..first + count).map(|row| words.get(row as usize).to_vec()).collect())
            }
            NodeLabels::Names(lines, _) => {
                let mut names = Vec::with_capacity(count as usize);
                for place in places {
                    while lines.count() < place {
                        lines.advance()?;
                    }
                    names.push(lines.advance()?.to_vec());
                }
                Ok(names)
            }
        }
    }
}
