//! The ids of a table's rows.

use super::named_rows::NamedRows;
use super::node_names::NodeNames;
use super::text::shown;
use crate::error::Result;

/// Ids while they are read.
pub(super) struct TableIds {
    names: NodeNames,
    /// Whether each id so far is the number of its row.
    are_rows: bool,
}

impl TableIds {
    /// No ids so far. `keep_names` holds on to names that are just the numbers of rows; names may take `memory` bytes.
    pub(super) fn new(keep_names: bool, memory: u64) -> Self {
        TableIds { names: NodeNames::new(memory), are_rows: !keep_names }
    }

    /// Notes the id of the row with this number.
    pub(super) fn add(&mut self, rows: &NamedRows, column: &str, row: u64) -> Result<()> {
        let field = rows.field(0);
        let fail = |problem: String| rows.fail(format!("column {column}: {problem}"));
        if field.is_empty() {
            return Err(fail("the id is missing".to_owned()));
        }
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

    /// The names, unless each is the number of its row.
    pub(super) fn into_names(mut self) -> Option<NodeNames> {
        self.names.close();
        (!self.are_rows).then_some(self.names)
    }
}
