//! Rows of a file in any format.

use std::path::{Path, PathBuf};

use super::block::{CellBlock, Cells, NO_NUMBER};
use super::input::Input;
use super::look::{Ask, Column, Form, Opened};
use super::names::listed;
use super::nearest::nearest;
use super::values::{CellValue, is_value};
use super::{folder, formats};
use crate::platform::signals;
use crate::words::error::{Error, Result};

/// Rows of a file, of which only selected columns are read.
pub(crate) struct FileRows {
    path: PathBuf,
    /// Content of the file.
    pub(crate) file: Opened,
    /// The columns to read.
    columns: Vec<usize>,
    /// For each selected column its place in `columns`.
    selected: Vec<usize>,
    block: CellBlock,
    /// The current row in the block, and the number of the block's first row.
    at: usize,
    first: u64,
    has_begun: bool,
}

impl FileRows {
    /// Opens a file and recognises its format.
    pub(crate) fn open(path: &Path, ask: &Ask<'_>) -> Result<Self> {
        let file = if path.is_dir() {
            folder::open(path, ask)?
        } else {
            formats::open(&Input::open(path)?, ask)?
        };
        Ok(FileRows {
            path: path.to_owned(),
            file,
            columns: Vec::new(),
            selected: Vec::new(),
            block: CellBlock::default(),
            at: 0,
            first: 0,
            has_begun: false,
        })
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The columns of the file.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.file.columns
    }

    /// A column's name for messages.
    pub(crate) fn name(&self, column: usize) -> String {
        match self.file.columns[column].name.as_str() {
            "" => (column + 1).to_string(),
            name => name.to_owned(),
        }
    }

    /// Finds a column by name.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        self.column_or(name, &[])
    }

    /// Finds a column by name; the error for a name that no column has lists the columns of nodes, too, if there are
    /// any.
    pub(crate) fn column_or(&self, name: &str, of_nodes: &[&str]) -> Result<usize> {
        let columns = &self.file.columns;
        let mut found = (0..columns.len()).filter(|at| columns[*at].name == name);
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (None, _) => {
                let error = Error::input(&self.path, "", format!("has no column {name:?}"));
                let mut hint = self.named_columns();
                if !of_nodes.is_empty() {
                    hint.extend(["; those of nodes are ", &listed(of_nodes)]);
                }
                let names = columns.iter().map(|column| column.name.as_str());
                let names = names.filter(|_| self.file.named).chain(of_nodes.iter().copied());
                let near = nearest(name, names.filter(|name| !name.is_empty()));
                Err(error.with_hint(match near {
                    Some(near) => format!("did you mean {near}? {hint}"),
                    None => hint,
                }))
            }
            _ => {
                let problem = format!("has more than one column {name:?}");
                let hint = format!("rename one of them; {}", self.named_columns());
                Err(Error::input(&self.path, "", problem).with_hint(hint))
            }
        }
    }

    /// Names of the columns for a hint.
    pub(crate) fn named_columns(&self) -> String {
        let names: Vec<&str> = self.columns().iter().map(|column| column.name.as_str()).collect();
        let are_values = names.iter().any(|name| !name.is_empty() && is_value(name.as_bytes()));
        let needs = "the file needs a first line with names";
        match (self.file.named, are_values) {
            (true, false) => format!("its columns are {}", listed(&names)),
            (true, true) => {
                format!("its columns are {}; if these are values, {needs}", listed(&names))
            }
            _ => format!(
                "its columns have no names; if the first line holds them, pass ‹header›, and if not, {needs}"
            ),
        }
    }

    /// Checks that a column has one id or name per row, and returns the column.
    pub(crate) fn plain(&self, column: usize) -> Result<usize> {
        let hint = "a node has one id or name";
        if self.file.columns[column].form == Form::List {
            let problem = format!("column {} holds lists", self.name(column));
            return Err(Error::input(&self.path, "", problem).with_hint(hint));
        }
        self.single(column, hint)
    }

    /// Checks that a column does not have several values per row, and returns the column.
    pub(crate) fn single(&self, column: usize, hint: &str) -> Result<usize> {
        match self.file.columns[column].width {
            Some(width) if width != 1 => {
                let problem =
                    format!("column {} holds {width} values in each row", self.name(column));
                Err(Error::input(&self.path, "", problem).with_hint(hint))
            }
            _ => Ok(column),
        }
    }

    /// Chooses the columns to read.
    pub(crate) fn select(&mut self, columns: impl IntoIterator<Item = usize>) -> Result<()> {
        (self.columns, self.selected) = (Vec::new(), Vec::new());
        for column in columns {
            if let Form::Other { problem, hint } = &self.file.columns[column].form {
                let problem = format!("column {} {problem}", self.name(column));
                return Err(Error::input(&self.path, "", problem).with_hint(*hint));
            }
            let known = self.columns.iter().position(|known| *known == column);
            self.selected.push(known.unwrap_or(self.columns.len()));
            if known.is_none() {
                self.columns.push(column);
            }
        }
        Ok(())
    }

    /// Moves to the next row; false at the end. Fails if the user has interrupted the program.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.at += 1;
        if self.at < self.block.rows {
            return Ok(true);
        }
        signals::check()?;
        self.first += if self.has_begun { self.block.rows as u64 } else { 0 };
        (self.has_begun, self.at) = (true, 0);
        self.block.clear();
        self.file.reader.read(&self.columns, &mut self.block)?;
        Ok(self.block.rows > 0)
    }

    /// A value of the current row, in the selected column number `at`.
    pub(crate) fn value(&self, at: usize) -> CellValue<'_> {
        self.element(at, 0)
    }

    /// An element of a list in the current row.
    pub(crate) fn element(&self, at: usize, element: usize) -> CellValue<'_> {
        let place = self.selected[at];
        let column = &self.file.columns[self.columns[place]];
        let at = self.at * column.width.unwrap_or(1) + element;
        match (&self.block.columns[place], &column.form) {
            (Cells::Text(spans), _) => match spans[at].of(&self.block.bytes) {
                [] => CellValue::Missing,
                text => CellValue::Text(text),
            },
            (Cells::Whole(values), _) if values[at] == NO_NUMBER => CellValue::Missing,
            (Cells::Whole(values), Form::Date { per_day }) => {
                CellValue::Date(values[at] as f64 / per_day)
            }
            (Cells::Whole(values), _) => CellValue::Whole(values[at]),
            (Cells::Real(values), _) if values[at].is_nan() => CellValue::Missing,
            (Cells::Real(values), _) => CellValue::Real(values[at]),
        }
    }

    /// Whether the current row is the first of a block, which is when to report progress.
    pub(crate) fn begins_block(&self) -> bool {
        self.at == 0
    }

    /// Number of the current line, from 1, or of the current row, from 0.
    pub(crate) fn number(&self) -> u64 {
        self.block.lines.get(self.at).copied().unwrap_or(self.first + self.at as u64)
    }

    /// An error about this row.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        let place = format!("{} {}", self.file.unit, self.number());
        let error = Error::input(&self.path, &place, problem);
        if self.block.lines.is_empty() {
            return error.with_hint(format!("{}s are counted from 0", self.file.unit));
        }
        error
    }

    /// An error about the first row.
    pub(crate) fn fail_first(&self, problem: impl Into<String>) -> Error {
        Error::input(&self.path, &format!("{} {}", self.file.unit, self.file.first), problem)
    }

    /// Approximate number of bytes of the file read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.file.reader.bytes_read()
    }

    /// A note on how the file was read.
    pub(crate) fn note(&self, more: &str) -> String {
        format!("{}: {}{more}", self.path.display(), self.file.kind)
    }
}
