//! Reading a table of nodes with a column of ids.

use std::path::Path;

use super::column_file::ColumnFile;
use super::column_scan::{ColumnScan, MOST_STRINGS, missing_value};
use super::encoding::Encoding;
use super::named_rows::{NamedRows, listed};
use super::node_names::NodeNames;
use super::node_tables::{
    ChosenColumns, ColumnRole, EmbeddedColumn, MASKS, NodeTableFile, NodeTables,
};
use super::table::Table;
use super::table_ids::TableIds;
use crate::error::{Error, Result};
use crate::platform::signals;

/// Number of rows between two looks for an interruption.
const ROWS: u64 = 1 << 14;

/// A table that has been read once: its nodes are known, and how each column is stored.
pub(super) struct ScannedTable {
    pub(super) file: NodeTableFile,
    pub(super) rows: u64,
    /// Names of the nodes, unless they are the numbers of the rows from 0.
    pub(super) names: Option<NodeNames>,
    /// Places of the columns that are read again.
    selected: Vec<usize>,
    columns: Vec<StoredColumn>,
    left_out: Vec<String>,
    /// Columns whose values become nodes.
    pub(super) embedded: Vec<EmbeddedColumn>,
    /// The values of these columns.
    pub(super) values: Vec<NodeNames>,
}

struct StoredColumn {
    name: String,
    encoding: Encoding,
}

impl ScannedTable {
    /// Reads all tables once. `keep_names` holds on to names that are just the numbers of rows; names may take `memory` bytes.
    pub(super) fn scan_all(
        tables: &NodeTables,
        keep_names: bool,
        memory: u64,
    ) -> Result<Vec<Self>> {
        let opened = tables.files.iter().map(|file| NamedRows::open(&file.path));
        let opened: Vec<NamedRows> = opened.collect::<Result<_>>()?;
        tables.check(&opened)?;
        let all = tables.files.iter().zip(opened);
        all.map(|(file, rows)| Self::scan(tables, file, rows, keep_names, memory)).collect()
    }

    fn scan(
        tables: &NodeTables,
        file: &NodeTableFile,
        mut rows: NamedRows,
        keep_names: bool,
        memory: u64,
    ) -> Result<Self> {
        let ChosenColumns { id, used, embedded, left_out } = tables.columns(file, &rows)?;
        let id_name = rows.names()[id].clone();
        let selected: Vec<usize> =
            [id].into_iter().chain(used.iter().map(|column| column.at)).collect();
        let all = selected.iter().copied().chain(embedded.iter().map(|column| column.at));
        rows.select(all.collect())?;
        let mut values: Vec<NodeNames> = embedded.iter().map(|_| NodeNames::new(memory)).collect();
        let mut scans: Vec<ColumnScan> = used.iter().map(ColumnScan::new).collect();
        let mut ids = TableIds::new(keep_names, memory);
        let mut count = 0;
        while rows.advance()? {
            if count % ROWS == 0 {
                signals::check()?;
            }
            ids.add(&rows, &id_name, count)?;
            for (at, scan) in (1..).zip(&mut scans) {
                scan.add(&rows, rows.field(at));
            }
            for (at, (column, values)) in (selected.len()..).zip(embedded.iter().zip(&mut values)) {
                let field = rows.field(at);
                if !field.is_empty() {
                    values.id(field)?;
                } else if tables.fill_missing.is_none() {
                    return Err(missing_value(&rows, &column.name));
                }
            }
            count += 1;
        }
        if count == 0 {
            return Err(Error::input(&file.path, "", "has no rows")
                .with_hint("every node of the type has a row"));
        }
        if let Some(error) = scans.iter_mut().find_map(ColumnScan::stray_word) {
            return Err(error);
        }
        refuse_many_strings(&file.path, &scans)?;
        if let Some((column, _)) = embedded.iter().zip(&values).find(|(_, v)| v.is_empty()) {
            let problem = format!("column {} has no values", column.name);
            return Err(Error::input(&file.path, "", problem)
                .with_hint(format!("leave the column out: ‹drop={}›", column.name)));
        }
        let (mut columns, mut selected) = (Vec::new(), vec![id]);
        for (column, scan) in used.iter().zip(scans) {
            // A mask that no value names does not exist.
            let is_empty = matches!(column.role, ColumnRole::Split(mask) if !scan.names_mask(mask));
            let encoding = scan.encoding(&file.path, tables.fill_missing)?;
            if is_empty {
                continue;
            }
            let name = match column.role {
                ColumnRole::Split(mask) => MASKS[mask].to_owned(),
                _ => column.name.clone(),
            };
            columns.push(StoredColumn { name, encoding });
            selected.push(column.at);
        }
        Ok(ScannedTable {
            columns,
            file: file.clone(),
            rows: count,
            names: ids.into_names(),
            selected,
            left_out,
            embedded,
            values,
        })
    }

    /// Reads the table again, and stores features, labels and masks in unnamed files in `folder`.
    pub(super) fn convert(&self, folder: &Path) -> Result<Vec<(String, Table)>> {
        let path = &self.file.path;
        let mut rows = NamedRows::open(path)?;
        rows.select(self.selected.clone())?;
        let mut arrays: Vec<ColumnFile> = Vec::new();
        // The array of each column; all features share one.
        let mut places = Vec::new();
        for column in &self.columns {
            let is_feature = column.encoding.is_feature();
            let name = match column.encoding {
                Encoding::Number { .. } | Encoding::OneHot { .. } => "feat",
                Encoding::Mask | Encoding::Split(_) => &column.name,
                Encoding::ClassNumber | Encoding::ClassName(_) | Encoding::Target => "label",
            };
            let known = arrays.iter().position(|array| array.name == name);
            places.push(known.unwrap_or(arrays.len()));
            if known.is_none() {
                let dtype = column.encoding.dtype();
                arrays.push(ColumnFile::create(name, dtype, is_feature, folder)?);
            }
        }
        let mut count = 0;
        while rows.advance()? {
            if count % ROWS == 0 {
                signals::check()?;
            }
            for (at, (column, place)) in (1..).zip(self.columns.iter().zip(&places)) {
                if !column.encoding.append(rows.field(at), &mut arrays[*place].row) {
                    return Err(self.changed());
                }
            }
            arrays.iter_mut().try_for_each(ColumnFile::end_row)?;
            count += 1;
        }
        if count != self.rows {
            return Err(self.changed());
        }
        let finish = |array: ColumnFile| {
            Ok((array.name.clone(), Table::new(vec![array.finish(path, count)?])?))
        };
        arrays.into_iter().map(finish).collect()
    }

    /// Calls `take` with the values of an embedded column, row by row; empty for a row without one.
    pub(super) fn read_values(
        &self,
        column: &EmbeddedColumn,
        mut take: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut rows = NamedRows::open(&self.file.path)?;
        rows.select(vec![column.at])?;
        let mut count = 0;
        while rows.advance()? {
            if count % ROWS == 0 {
                signals::check()?;
            }
            if count == self.rows {
                return Err(self.changed());
            }
            take(count, rows.field(0))?;
            count += 1;
        }
        if count == self.rows { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> Error {
        Error::input(&self.file.path, "", "has changed while it was read")
    }

    /// Names of the classes, if labels are names.
    pub(super) fn class_names(&self) -> Option<Vec<String>> {
        self.columns.iter().find_map(|column| match &column.encoding {
            Encoding::ClassName(names) => {
                let names = names.iter().map(|name| String::from_utf8_lossy(name).into_owned());
                Some(names.collect())
            }
            _ => None,
        })
    }

    /// What the columns have become, as a sentence.
    pub(super) fn summary(&self) -> String {
        let mut features = Vec::new();
        let mut others = Vec::new();
        for column in &self.columns {
            let name = &column.name;
            match &column.encoding {
                Encoding::Number { .. } => features.push(name.clone()),
                Encoding::OneHot { values, .. } => features.extend(
                    values.iter().map(|value| format!("{name}={}", String::from_utf8_lossy(value))),
                ),
                Encoding::ClassName(names) => {
                    let classes = if names.len() == 1 { "class" } else { "classes" };
                    others.push(format!("label is {name}, {} {classes}", names.len()));
                }
                Encoding::ClassNumber | Encoding::Target => others.push(format!("label is {name}")),
                Encoding::Mask | Encoding::Split(_) => others.push(format!("mask {name}")),
            }
        }
        let mut parts = vec![format!("{}: {} nodes", self.file.path.display(), self.rows)];
        if !features.is_empty() {
            let columns = if features.len() == 1 { "column" } else { "columns" };
            parts.push(format!("feat has {} {columns} ({})", features.len(), listed(&features)));
        }
        parts.extend(others);
        for column in &self.embedded {
            parts.push(format!("rows of {} are learned", column.name));
        }
        if !self.left_out.is_empty() {
            parts.push(format!("left out: {}", listed(&self.left_out)));
        }
        parts.join("; ")
    }
}

/// Refuses columns with so many different strings that they cannot be one-hot features.
fn refuse_many_strings(path: &Path, scans: &[ColumnScan]) -> Result<()> {
    let wide: Vec<(&str, String)> =
        scans.iter().filter_map(|scan| Some((&*scan.name, scan.too_many()?))).collect();
    if wide.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = wide
        .iter()
        .map(|(name, count)| format!("column {name} holds {count} different strings"))
        .collect();
    let problem = format!("{}; up to {MOST_STRINGS} become features", list.join(", "));
    let flags = |flag: &str| {
        let flags: Vec<String> = wide.iter().map(|(name, _)| format!("‹{flag}={name}›")).collect();
        flags.join(" ")
    };
    let hint =
        format!("leave out: {}, or learn a row for each string: {}", flags("drop"), flags("embed"));
    Err(Error::input(path, "", problem).with_hint(hint))
}
