//! Ids of a table's rows.

use std::borrow::Cow;

use super::id_space::DECIMALS;
use super::node_names::{NamesMemory, NodeNames, memory_of_rest};
use crate::prepare::import::readers::{CellValue, FileRows, is_missing, shown};
use crate::words::error::{Error, Result};

/// Ids while they are read.
pub(crate) struct TableIds {
    names: NodeNames,
    /// Whether each id so far equals the number of its row.
    are_rows: bool,
}

impl TableIds {
    /// Starts without ids. `keep_names` keeps names even if they are just row numbers.
    pub(crate) fn new(keep_names: bool, memory: &NamesMemory) -> Self {
        TableIds { names: NodeNames::new(memory), are_rows: !keep_names }
    }

    /// Notes the id of the row with this number.
    pub(crate) fn add(&mut self, rows: &FileRows, column: &str, row: u64) -> Result<()> {
        let fail = |problem: String| rows.fail(format!("column {column}: {problem}"));
        let field = match rows.value(0) {
            CellValue::Text(word) if !is_missing(word.trim_ascii()) => Cow::Borrowed(word),
            CellValue::Whole(number) if self.are_rows && number as u64 == row => return Ok(()),
            CellValue::Whole(number) => Cow::Owned(number.to_string().into_bytes()),
            CellValue::Missing | CellValue::Text(_) => {
                return Err(fail("the id is missing".to_owned()));
            }
            other => {
                let problem = format!("{} is neither a whole number nor a name", other.shown());
                return Err(fail(problem).with_hint(DECIMALS));
            }
        };
        let field = &*field;
        if self.are_rows && field == row.to_string().as_bytes() {
            return Ok(());
        }
        if field.contains(&b'\n') {
            return Err(fail(format!("the id {} holds a line break", shown(field)))
                .with_hint("a file of names has one name per line"));
        }
        if self.are_rows {
            for earlier in 0..row {
                self.names.id(earlier.to_string().as_bytes())?;
            }
            self.are_rows = false;
        }
        match self.names.id(field)? {
            Some(id) if id == row => Ok(()),
            earlier => {
                let first = earlier.map_or(0, |id| id + 1);
                Err(fail(format!("{} is already the id of node {first}", shown(field)))
                    .with_hint("every node has one row"))
            }
        }
    }

    /// The error for names that exceed memory, if that is why the current row was refused. Reads the rest of the table
    /// to determine the size of all names.
    pub(crate) fn too_many(&self, rows: &mut FileRows) -> Result<Option<Error>> {
        if !self.names.is_full() {
            return Ok(None);
        }
        let more = memory_of_rest(rows)?;
        Ok(Some(self.names.too_many(more)))
    }

    /// The names, unless each is the number of its row.
    pub(crate) fn into_names(mut self) -> Option<NodeNames> {
        self.names.close();
        (!self.are_rows).then_some(self.names)
    }
}
