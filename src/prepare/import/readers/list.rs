//! Files that list nodes: one column of ids or names.

use std::path::Path;

use super::look::Ask;
use super::names::{ends_of, is_index, is_usual_id, listed};
use super::rows::FileRows;
use crate::words::error::{Error, Result};

impl FileRows {
    /// Opens a file with a value per node of a list, and selects the column of values.
    pub(crate) fn open_list(path: &Path, ask: &Ask<'_>) -> Result<FileRows> {
        let mut rows = FileRows::open(path, ask)?;
        let columns = rows.columns();
        let named = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..columns.len()).filter(|at| is(&columns[*at].name)).collect()
        };
        let usual = named(&is_usual_id);
        let others = named(&|name| !is_index(name));
        let column = match (&usual[..], &others[..]) {
            _ if columns.len() == 1 => 0,
            ([column], _) | (_, [column]) => *column,
            _ => {
                let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                let problem = format!("has the columns {}, but a list has one", listed(&names));
                return Err(Error::input(path, "", problem)
                    .with_hint("leave the others out, or call the column of nodes id"));
            }
        };
        rows.select([rows.plain(column)?])?;
        Ok(rows)
    }

    /// Opens a file of pairs of nodes, and selects their columns: two with usual names, or the only two.
    pub(crate) fn open_pairs(path: &Path, ask: &Ask<'_>) -> Result<FileRows> {
        let mut rows = FileRows::open(path, ask)?;
        if rows.file.facts.counts_from_one && !ask.ids_are_names {
            let problem = "counts nodes from 1, as lists of KONECT do, but pairs count from 0";
            return Err(Error::input(path, "", problem)
                .with_hint("subtract 1 from the numbers, and delete the first line"));
        }
        let columns = rows.columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let others: Vec<usize> =
            (0..columns.len()).filter(|at| !rows.file.named || !is_index(names[*at])).collect();
        let ends = match ends_of(&names, &others, None) {
            Some(ends) => ends,
            None if !rows.file.named => {
                let count = columns.len();
                return Err(rows.fail_first(format!("has {count} fields; a pair has 2")));
            }
            None => {
                let problem = format!("has the columns {}; a pair has 2", listed(&names));
                return Err(Error::input(path, "", problem));
            }
        };
        rows.select([rows.plain(ends[0])?, rows.plain(ends[1])?])?;
        Ok(rows)
    }
}
