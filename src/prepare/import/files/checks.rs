//! Checks for options that contradict each other.

use std::collections::BTreeSet;

use super::bad_rows::BadRows;
use super::column_of::ColumnOf;
use super::graph_files::{GraphFiles, edge};
use super::types::unknown_etype;
use crate::graph::CanonicalEtype;
use crate::prepare::import::readers::nearest;
use crate::words::error::{Error, Result};

impl GraphFiles {
    /// Checks options about columns and rows before any file is read.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_edge_columns()?;
        self.check_split_types()?;
        self.check_bad_rows()?;
        self.check_relation_column()?;
        self.check_end_columns()
    }

    fn check_edge_columns(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        let twice = self.edge_columns.iter().find(|name| !seen.insert(name.as_str()));
        match twice {
            Some(name) => Err(Error::config("edge_columns", format!("{name:?} is given twice"))),
            None => Ok(()),
        }
    }

    /// Returns an error for a misspelt type before the column of a split, which would otherwise be read as part of the
    /// column's name.
    fn check_split_types(&self) -> Result<()> {
        let ends = self.edges.iter().flat_map(|file| [&file.etype.src, &file.etype.dst]);
        let types: Vec<&str> = ends.map(String::as_str).collect();
        for split in &self.drawn_splits {
            let parts = split.column().and_then(|column| column.split_once('='));
            if let Some((ty, column)) = parts.filter(|_| split.ty.is_none())
                && let Some(near) = nearest(ty, types.iter().copied())
            {
                return Err(split
                    .fail(format!("the graph has no nodes of type {ty}"))
                    .with_hint(format!("did you mean ‹split_by={near}={column}›?")));
            }
        }
        Ok(())
    }

    /// Returns an error if rows of edges are skipped although other files have a row for each.
    fn check_bad_rows(&self) -> Result<()> {
        let skips = self.bad_rows.as_ref().is_some_and(|rule| rule.rows == BadRows::Skip);
        match self.edge_data.first() {
            Some(data) if skips => {
                let problem = "leaves out rows of edges, but ‹edge_data› has a value for each row";
                Err(Error::config("bad_rows", problem).with_hint(format!(
                    "put {} into a column of the file of edges: ‹edge_columns=NAME›",
                    data.name
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error for edge types if a column has the types.
    fn check_relation_column(&self) -> Result<()> {
        let typed = self.edges.iter().find(|file| file.etype != edge());
        let (Some(column), Some(file)) = (&self.relation_column, typed) else { return Ok(()) };
        let path = file.path.display();
        let problem = format!("{column} names the types of edges, but {path} has one");
        Err(Error::config("relation_column", problem)
            .with_hint(format!("pass ‹edges={path}›, or leave the column out")))
    }

    /// Returns an error for columns of types without edge files.
    fn check_end_columns(&self) -> Result<()> {
        for (field, choices) in
            [("source_column", &self.source_columns), ("target_column", &self.target_columns)]
        {
            let is_idle = |choice: &&ColumnOf<CanonicalEtype>| {
                !self.edges.iter().any(|file| choice.is_for(&file.etype))
            };
            if let Some(ColumnOf { ty: Some(ty), .. }) = choices.iter().find(is_idle) {
                return Err(unknown_etype(field, ty, self.edges.iter().map(|file| &file.etype)));
            }
        }
        Ok(())
    }
}
