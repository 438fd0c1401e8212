//! Numbers in columns of lists.

use std::path::Path;

use super::column_scan::ColumnScan;
use super::node_columns::UsedColumn;
use super::scanned_table::TableScan;
use crate::error::Result;
use crate::prepare::import::files::NodeTables;
use crate::prepare::import::readers::{Ask, BadRowList, FileRows};

/// Reads a table again for columns that hold lists and numbers, such as `12|14` and `7`: a number is a list of one word.
pub(super) fn add_late_words(
    tables: &NodeTables,
    path: &Path,
    used: &[UsedColumn],
    scans: &mut [ColumnScan],
    scan: TableScan<'_>,
) -> Result<()> {
    let late: Vec<usize> = (0..scans.len()).filter(|at| scans[*at].lacks_words()).collect();
    if late.is_empty() {
        return Ok(());
    }
    let unheeded = BadRowList::unheeded(scan.ask.folder);
    let bad_rows = scan.bad_rows.map(|_| &unheeded);
    let ask = Ask { names: &tables.names(), bad_rows, ..scan.ask };
    let mut rows = FileRows::open(path, &ask)?;
    rows.select(late.iter().map(|at| used[*at].at))?;
    while rows.advance()? {
        for (place, at) in late.iter().enumerate() {
            scans[*at].add_late(rows.element(place, used[*at].element));
        }
    }
    Ok(())
}
