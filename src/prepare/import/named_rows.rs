//! NamedRows of tables whose columns have names.

use std::path::{Path, PathBuf};

use super::cells::Cells;
use super::format::Format;
use super::parquet_rows::ParquetRows;
use super::records::Records;
use crate::error::{Error, Result};

/// Most columns that a message lists.
const LISTED: usize = 12;

/// The rows of a table with named columns: text whose first line names them, or Parquet. Every field is text, and a missing
/// one is empty.
pub(super) struct NamedRows {
    path: PathBuf,
    names: Vec<String>,
    source: Source,
}

enum Source {
    Text { records: Box<Records>, fields: Cells, selected: Vec<usize> },
    Parquet(ParquetRows),
}

impl NamedRows {
    /// Opens a table.
    ///
    /// # Errors
    /// If the file cannot be read, or its columns have no names.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let (names, source) = match Format::of(path)? {
            Format::Parquet => {
                let rows = ParquetRows::open(path)?;
                (rows.names(), Source::Parquet(rows))
            }
            Format::Text => {
                let mut records = Records::open(path)?;
                if !records.advance()? {
                    return Err(Error::input(path, "", "is empty")
                        .with_hint("the first line of a table names its columns"));
                }
                let names: Vec<String> = records
                    .all_fields()
                    .map(|field| String::from_utf8_lossy(&field).into_owned())
                    .collect();
                let records = Box::new(records);
                let source =
                    Source::Text { records, fields: Cells::default(), selected: Vec::new() };
                (names, source)
            }
            Format::Npy | Format::Npz | Format::MetisGraph => {
                return Err(Error::input(path, "", "has no named columns")
                    .with_hint("columns have names in text files and in Parquet files"));
            }
        };
        Ok(NamedRows { path: path.to_owned(), names, source })
    }

    /// Names of the columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether a column has a name, or holds a value of the lists of a column with that name.
    pub(super) fn belongs_to(&self, at: usize, name: &str) -> bool {
        self.names[at] == name || self.list_of(at).is_some_and(|list| list == name)
    }

    /// The column of lists that a column is part of.
    pub(super) fn list_of(&self, at: usize) -> Option<String> {
        match &self.source {
            Source::Text { .. } => None,
            Source::Parquet(rows) => rows.list_of(at),
        }
    }

    /// The place of a column.
    ///
    /// # Errors
    /// If no column, or more than one, has the name.
    pub(super) fn column(&self, name: &str) -> Result<usize> {
        let mut found = (0..self.names.len()).filter(|at| self.names[*at] == name);
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (None, _) => Err(Error::input(&self.path, "", format!("has no column {name:?}"))
                .with_hint(format!("its columns are {}", listed(&self.names)))),
            _ => {
                let problem = format!("has more than one column {name:?}");
                Err(Error::input(&self.path, "", problem).with_hint("rename one of them"))
            }
        }
    }

    /// Chooses the columns whose fields are read.
    ///
    /// # Errors
    /// If a column of a Parquet file holds neither numbers nor strings.
    pub(super) fn select(&mut self, columns: Vec<usize>) -> Result<()> {
        match &mut self.source {
            Source::Text { selected, .. } => {
                *selected = columns;
                Ok(())
            }
            Source::Parquet(rows) => rows.select(&columns),
        }
    }

    /// Moves to the next row; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool> {
        let (records, fields) = match &mut self.source {
            Source::Parquet(rows) => return rows.advance(),
            Source::Text { records, fields, .. } => (records, fields),
        };
        if !records.advance()? {
            return Ok(false);
        }
        fields.clear();
        if self.names.len() == 1 {
            // A single column needs no separator, so its fields may hold any.
            fields.push(|bytes| bytes.extend_from_slice(&records.whole()));
        } else {
            records
                .all_fields()
                .for_each(|field| fields.push(|bytes| bytes.extend_from_slice(&field)));
        }
        if fields.len() != self.names.len() {
            let problem = format!(
                "has {} columns, but the first line names {}",
                fields.len(),
                self.names.len()
            );
            return Err(records.fail(problem).with_hint(
                "put a field that holds the separator between double quotes, and leave a missing \
                 value empty",
            ));
        }
        Ok(true)
    }

    /// A field of the current row: the one of the column that was chosen as number `at`.
    pub(super) fn field(&self, at: usize) -> &[u8] {
        match &self.source {
            Source::Text { fields, selected, .. } => fields.get(selected[at]),
            Source::Parquet(rows) => rows.field(at),
        }
    }

    /// Number of the current line, or of the current row.
    pub(super) fn number(&self) -> u64 {
        match &self.source {
            Source::Text { records, .. } => records.number(),
            Source::Parquet(rows) => rows.number(),
        }
    }

    /// The unit of [`number`](Self::number).
    pub(super) fn unit(&self) -> &'static str {
        match &self.source {
            Source::Text { .. } => "line",
            Source::Parquet(_) => "row",
        }
    }

    /// Bytes read so far, about.
    pub(super) fn bytes_read(&self) -> u64 {
        match &self.source {
            Source::Text { records, .. } => records.bytes_read(),
            Source::Parquet(rows) => rows.bytes_read(),
        }
    }

    /// An error in this row.
    pub(super) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::input(&self.path, &format!("{} {}", self.unit(), self.number()), problem)
    }
}

/// Names for a message.
pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
    let rest = names.len().saturating_sub(LISTED);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}
