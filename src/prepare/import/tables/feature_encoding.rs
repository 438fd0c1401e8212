//! How columns of node tables became features, in a file next to a partition directory's JSON file: rows of new nodes are encoded in
//! the same way.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::encoding::Encoding;
use super::scanned_table::{ScannedTable, StoredColumn};
use crate::io::{Dtype, read_if_there};
use crate::prepare::import::readers::{CellValue, FileRows, listed};
use crate::words::error::{Error, Result};

/// Name of the file.
pub(crate) const FEATURE_ENCODING: &str = "feature_encoding.json";

/// The features of one node type.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TableEncoding {
    /// The column of ids.
    id: String,
    /// Whether a missing value has a replacement.
    fills_missing: bool,
    /// Columns whose values are nodes.
    pub(crate) embedded: Vec<String>,
    /// The parts of a row of features, in order.
    columns: Vec<StoredColumn>,
}

impl ScannedTable<'_> {
    /// The content of the file; empty without tables, or if a string of a table is not UTF-8.
    pub(crate) fn feature_encoding(tables: Vec<Self>) -> String {
        let of_table = |table: Self| {
            let columns = table.columns.into_iter();
            let encoding = serde_json::to_value(TableEncoding {
                id: table.id,
                fills_missing: table.scan.tables.fill_missing.is_some(),
                embedded: table.embedded.into_iter().map(|column| column.name).collect(),
                columns: columns.filter(|column| column.encoding.is_feature()).collect(),
            });
            Ok((table.file.ty, encoding?))
        };
        let all = tables.into_iter().map(of_table);
        let all: serde_json::Result<BTreeMap<String, serde_json::Value>> = all.collect();
        let text = all.ok().filter(|all| !all.is_empty());
        let text = text.and_then(|all| serde_json::to_string_pretty(&all).ok());
        text.map_or(String::new(), |text| text + "\n")
    }
}

/// The encodings that a folder's file holds, by node type.
pub(crate) fn table_encodings(folder: &Path) -> Result<BTreeMap<String, TableEncoding>> {
    let path = folder.join(FEATURE_ENCODING);
    let Some(text) = read_if_there(&path)? else { return Ok(BTreeMap::new()) };
    serde_json::from_str(&text).map_err(|error| {
        let problem = format!("does not describe features: {error}");
        Error::input(&path, "", problem).with_hint("cut the graph again with ‹node_table=FILE›")
    })
}

impl TableEncoding {
    /// Name of the column of ids.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Names of the columns that make features.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.column.as_str())
    }

    /// Whether features with this type and row shape were made in this way.
    pub(crate) fn makes(&self, dtype: Dtype, row_shape: &[u64]) -> bool {
        let width: usize = self.columns.iter().map(|column| column.encoding.width()).sum();
        let same_type = self.columns.iter().all(|column| column.encoding.dtype() == dtype);
        same_type && row_shape == [width as u64]
    }

    /// The columns to select in a table, one for each part of a row of features.
    pub(crate) fn select(&self, rows: &FileRows) -> Result<Vec<usize>> {
        let find = |own: &StoredColumn| {
            let at = rows.column(&own.column)?;
            let places = self.columns.iter().filter(|other| other.column == own.column).count();
            let width = rows.columns()[at].width.unwrap_or(1);
            if width == places {
                return Ok(at);
            }
            let problem = format!(
                "column {} holds {width} values in each row, but the features of the graph were made of {places}",
                own.column
            );
            Err(Error::input(rows.path(), "", problem))
        };
        self.columns.iter().map(find).collect()
    }

    /// Appends the current row's features; its columns were selected from number `first` on.
    pub(crate) fn append(&self, rows: &FileRows, first: usize, out: &mut Vec<u8>) -> Result<()> {
        for (at, column) in (first..).zip(&self.columns) {
            let value = rows.element(at, column.element);
            let problem = match value.parsed() {
                CellValue::Missing if !self.fills_missing => "the value is missing".to_owned(),
                CellValue::Missing => String::new(),
                CellValue::Date(_) if column.is_dates => String::new(),
                CellValue::Date(_) if column.is_number() => "a date among numbers".to_owned(),
                other if column.is_dates => format!("{} is not a date", other.shown()),
                other if column.is_number() && !other.number().is_some_and(is_finite) => {
                    format!("{} is not a finite number of single precision", other.shown())
                }
                _ => String::new(),
            };
            if problem.is_empty() && column.encoding.append(value, out) {
                continue;
            }
            let problem = if problem.is_empty() { column.unknown(value) } else { problem };
            return Err(rows.fail(format!("column {}: {problem}", column.column)).with_hint(
                "features of new nodes are made as those of the graph were; for other values, cut the graph and train again",
            ));
        }
        Ok(())
    }
}

fn is_finite(number: f64) -> bool {
    (number as f32).is_finite()
}

impl StoredColumn {
    fn is_number(&self) -> bool {
        matches!(self.encoding, Encoding::Number { .. })
    }

    /// The reason why a value has no place in features.
    fn unknown(&self, value: CellValue<'_>) -> String {
        let value = value.shown();
        match &self.encoding {
            Encoding::OneHot { values, .. } => {
                let known: Vec<_> =
                    values.iter().map(|value| String::from_utf8_lossy(value)).collect();
                format!("the nodes of the graph have {}, but not {value}", listed(&known))
            }
            Encoding::Words { .. } => format!("{value} holds a word that no node of the graph has"),
            Encoding::Row { scales, .. } => {
                format!("{value} is not a list of {} numbers", scales.len())
            }
            _ => format!("{value} is not a number"),
        }
    }
}
