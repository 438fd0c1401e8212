//! Reading of node tables with a column of ids.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::column_scan::{ColumnScan, refuse_many_strings};
use super::encoding::Encoding;
use super::node_columns::{ChosenColumns, ColumnRole, EmbeddedColumn, UsedColumn};
use super::table::Table;
use crate::formats::dgl::array_file::ArrayFile;
use crate::io::Dtype;
use crate::load::MASKS;
use crate::prepare::import::files::{FillMissing, NodeTableFile, NodeTables};
use crate::prepare::import::ids::{NamesMemory, NodeNames, TableIds};
use crate::prepare::import::readers::{Ask, BadRowList, FileRows, listed, shown};
use crate::words::error::{Error, Result};

/// Rules for reading tables.
#[derive(Clone, Copy)]
pub(crate) struct TableScan<'a> {
    /// The tables.
    pub(crate) tables: &'a NodeTables,
    /// Rules for opening files, and the list for bad rows; without it, the first is an error.
    pub(crate) ask: Ask<'a>,
    /// Whether ids of bad rows are nodes, so that their edges are not bad, too.
    pub(crate) keeps_bad_ids: bool,
    /// Whether to keep names that equal the row numbers.
    pub(crate) keep_names: bool,
    /// Memory for the names of all tables.
    pub(crate) names: &'a NamesMemory,
}

/// A table after a first pass, which finds its nodes and each column's encoding.
pub(crate) struct ScannedTable<'a> {
    pub(super) scan: TableScan<'a>,
    pub(crate) file: NodeTableFile,
    /// Name of the column of ids.
    pub(super) id: String,
    pub(crate) rows: u64,
    /// Numbers of bad rows, which are left out.
    bad: BTreeSet<u64>,
    /// Names of the nodes, unless they are the row numbers from 0.
    pub(crate) names: Option<NodeNames>,
    pub(super) columns: Vec<StoredColumn>,
    left_out: Vec<String>,
    /// Description of the file in notes.
    kind: String,
    /// Columns whose values become nodes.
    pub(crate) embedded: Vec<EmbeddedColumn>,
    /// Values of these columns.
    pub(crate) values: Vec<NodeNames>,
}

/// A column, and how it is stored. For new nodes, only the fields that describe features are saved.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredColumn {
    #[serde(skip)]
    at: usize,
    /// Name of the column in the file.
    pub(super) column: String,
    /// Place in the column's lists; 0 without lists.
    pub(super) element: usize,
    #[serde(skip)]
    name: String,
    /// Whether the values are dates, and whether single precision rounds them.
    pub(super) is_dates: bool,
    #[serde(skip)]
    is_rounded: bool,
    pub(super) encoding: Encoding,
}

impl StoredColumn {
    /// Names of the columns of numbers, with shift and unit.
    pub(super) fn scales(&self) -> Vec<(String, [f64; 2])> {
        match &self.encoding {
            Encoding::Number { shift, unit, .. } => vec![(self.name.clone(), [*shift, *unit])],
            Encoding::Row { scales, is_label: false, .. } => {
                let name = |at| format!("{}[{at}]", self.name);
                scales.iter().enumerate().map(|(at, scale)| (name(at), *scale)).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn texts(words: &[Box<[u8]>]) -> Vec<String> {
    words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// An array that grows by rows.
struct GrowingArray<'n> {
    name: &'n str,
    dtype: Dtype,
    is_feature: bool,
    /// Number of values of a row, if rows are lists.
    width: Option<u64>,
    file: ArrayFile,
    row: Vec<u8>,
}

impl ChosenColumns {
    /// Selects columns in the rows of the file: ids, used columns, embedded columns.
    fn select(&self, rows: &mut FileRows) -> Result<()> {
        let used = self.used.iter().map(|column| column.at);
        let embedded = self.embedded.iter().map(|column| column.at);
        rows.select([self.id].into_iter().chain(used).chain(embedded))
    }

    /// Adds the current row's values.
    fn add(&self, rows: &FileRows, scans: &mut [ColumnScan]) {
        for (at, (column, scan)) in (1..).zip(self.used.iter().zip(scans)) {
            scan.add(rows, rows.element(at, column.element));
        }
    }
}

impl<'a> TableScan<'a> {
    /// Reads all tables once.
    pub(crate) fn read_all(self) -> Result<Vec<ScannedTable<'a>>> {
        let files = &self.tables.files;
        let opened = files.iter().map(|file| self.open(&file.path, self.ask.bad_rows));
        let opened: Vec<FileRows> = opened.collect::<Result<_>>()?;
        self.tables.check(&opened)?;
        files.iter().zip(opened).map(|(file, rows)| ScannedTable::read(self, file, rows)).collect()
    }

    fn open(&self, path: &Path, bad_rows: Option<&Rc<BadRowList>>) -> Result<FileRows> {
        let (names, lists) = (self.tables.names(), self.tables.label_names());
        FileRows::open(path, &Ask { names: &names, lists: &lists, bad_rows, ..self.ask })
    }

    /// Opens a table that is read several times. Bad lines, which another reading reports, are left out.
    fn open_again(&self, path: &Path) -> Result<FileRows> {
        let unheeded = BadRowList::unheeded(self.ask.folder);
        self.open(path, self.ask.bad_rows.map(|_| &unheeded))
    }

    /// All values of the columns, which decide which of them are bad.
    fn judges(&self, path: &Path, chosen: &ChosenColumns) -> Result<Vec<ColumnScan>> {
        let mut judges: Vec<ColumnScan> = chosen.used.iter().map(ColumnScan::new).collect();
        let mut rows = self.open_again(path)?;
        chosen.select(&mut rows)?;
        while rows.advance()? {
            chosen.add(&rows, &mut judges);
        }
        Ok(judges)
    }

    /// Chooses the columns' encodings.
    fn encode(
        &self,
        path: &Path,
        used: &[UsedColumn],
        mut scans: Vec<ColumnScan>,
        bad: &BTreeSet<u64>,
    ) -> Result<Vec<StoredColumn>> {
        let NodeTables { fill_missing, scale, .. } = *self.tables;
        if let Some(error) = scans.iter_mut().find_map(ColumnScan::stray_value) {
            return Err(error);
        }
        self.read_lists_again(path, used, &mut scans, bad)?;
        refuse_many_strings(path, &scans)?;
        let mut columns = Vec::new();
        for (column, scan) in used.iter().zip(scans) {
            let (at, element) = (column.at, column.element);
            // A mask that no value names is left out.
            let is_empty = matches!(column.role, ColumnRole::Split(mask) if !scan.names_mask(mask));
            let (is_dates, is_rounded) = (scan.is_dates(), scan.is_rounded(scale));
            let encoding = scan.encoding(path, fill_missing, scale)?;
            let name = match column.role {
                ColumnRole::Split(mask) => MASKS[mask].to_owned(),
                _ => column.name.clone(),
            };
            let column = column.column.clone();
            if !is_empty {
                columns.push(StoredColumn {
                    at,
                    column,
                    element,
                    name,
                    is_dates,
                    is_rounded,
                    encoding,
                });
            }
        }
        // Features that are all words take a byte each.
        let is_words = |column: &StoredColumn| matches!(column.encoding, Encoding::Words { .. });
        let all = columns.iter().filter(|column| column.encoding.is_feature()).all(is_words);
        for column in &mut columns {
            if let Encoding::Words { is_label: false, is_small, .. } = &mut column.encoding {
                *is_small = all && fill_missing != Some(FillMissing::Mean);
            }
        }
        Ok(columns)
    }

    /// Reads columns again whose lists lack values, without the rows that are bad.
    fn read_lists_again(
        &self,
        path: &Path,
        used: &[UsedColumn],
        scans: &mut [ColumnScan],
        bad: &BTreeSet<u64>,
    ) -> Result<()> {
        let late: Vec<usize> = (0..scans.len()).filter(|at| scans[*at].empties_lists()).collect();
        if late.is_empty() {
            return Ok(());
        }
        let mut rows = self.open_again(path)?;
        rows.select(late.iter().map(|at| used[*at].at))?;
        let mut row = 0;
        while rows.advance()? {
            row += 1;
            if bad.contains(&(row - 1)) {
                continue;
            }
            for (place, at) in late.iter().enumerate() {
                scans[*at].add_again(rows.element(place, used[*at].element));
            }
        }
        Ok(())
    }
}

impl<'a> ScannedTable<'a> {
    /// Reads a table once.
    fn read(scan: TableScan<'a>, file: &NodeTableFile, mut rows: FileRows) -> Result<Self> {
        let chosen = scan.tables.columns(file, &rows)?;
        let id_name = rows.name(chosen.id);
        let bad_rows = scan.ask.bad_rows;
        let judges = match bad_rows {
            Some(_) => scan.judges(&file.path, &chosen)?,
            None => Vec::new(),
        };
        chosen.select(&mut rows)?;
        let ChosenColumns { used, embedded, left_out, .. } = &chosen;
        let mut values: Vec<NodeNames> =
            embedded.iter().map(|_| NodeNames::new(scan.names)).collect();
        let mut scans: Vec<ColumnScan> = used.iter().map(ColumnScan::new).collect();
        let mut ids = TableIds::new(scan.keep_names, scan.names);
        let (mut count, mut all, mut bad) = (0, 0, BTreeSet::new());
        while rows.advance()? {
            all += 1;
            let mut judged = (1..).zip(used.iter().zip(&judges));
            let mut fault = judged.find_map(|(at, (column, judge))| {
                judge.fault(&rows, rows.element(at, column.element), scan.tables.fill_missing)
            });
            if fault.is_none() || scan.keeps_bad_ids {
                match ids.add(&rows, &id_name, count) {
                    Ok(()) if fault.is_some() => count += 1,
                    Ok(()) => {}
                    Err(error) => match (ids.too_many(&mut rows), bad_rows) {
                        (Ok(None), Some(_)) => fault = fault.or(Some(error)),
                        (full, _) => return Err(full?.unwrap_or(error)),
                    },
                }
            }
            if let Some((list, error)) = bad_rows.zip(fault) {
                list.take(error)?;
                bad.insert(all - 1);
                continue;
            }
            chosen.add(&rows, &mut scans);
            for (at, (column, values)) in (1 + used.len()..).zip(embedded.iter().zip(&mut values)) {
                // A node without a value gets no edge.
                let Some(name) = rows.value(at).name() else { continue };
                if name.contains(&b'\n') {
                    let problem = format!("the name {} holds a line break", shown(&name));
                    return Err(rows
                        .fail(format!("column {}: {problem}", column.name))
                        .with_hint("a file of names has one name per line"));
                }
                values.id(&name)?;
            }
            count += 1;
        }
        if count == 0 {
            return Err(Error::input(&file.path, "", "has no rows")
                .with_hint("every node of the type has a row"));
        }
        if let Some((column, _)) = embedded.iter().zip(&values).find(|(_, v)| v.is_empty()) {
            let problem = format!("column {} has no values", column.name);
            return Err(Error::input(&file.path, "", problem)
                .with_hint(format!("leave the column out: ‹drop={}›", column.name)));
        }
        let columns = scan.encode(&file.path, used, scans, &bad)?;
        let kind = rows.file.kind.clone();
        let (file, names, left_out) = (file.clone(), ids.into_names(), left_out.clone());
        let embedded = chosen.embedded;
        Ok(ScannedTable {
            scan,
            file,
            id: id_name,
            rows: count,
            bad,
            names,
            columns,
            left_out,
            kind,
            embedded,
            values,
        })
    }

    /// Reads the table again, and stores features, labels and masks in unnamed files.
    pub(crate) fn convert(&self) -> Result<Vec<(String, Table)>> {
        let (path, folder) = (&self.file.path, self.scan.ask.folder);
        if self.scan.keeps_bad_ids && !self.bad.is_empty() {
            // The import will fail.
            return Ok(Vec::new());
        }
        let mut arrays: Vec<GrowingArray<'_>> = Vec::new();
        // The array of each column; all features share one.
        let mut places = Vec::new();
        for column in &self.columns {
            let (encoding, is_feature) = (&column.encoding, column.encoding.is_feature());
            let known = arrays.iter().position(|array| array.is_feature && is_feature);
            let place = known.unwrap_or(arrays.len());
            if known.is_none() {
                let name = match encoding {
                    _ if is_feature => "feat",
                    Encoding::Mask | Encoding::Split(_) | Encoding::Order => &column.name,
                    _ => "label",
                };
                let (dtype, file) = (encoding.dtype(), ArrayFile::create(folder)?);
                let (width, row) = (encoding.makes_rows().then_some(0), Vec::new());
                arrays.push(GrowingArray { name, dtype, is_feature, width, file, row });
            }
            if let Some(width) = &mut arrays[place].width {
                *width += encoding.width() as u64;
            }
            places.push(place);
        }
        let columns = self.columns.iter().map(|column| column.at);
        self.read_again(columns, |_, rows| {
            for (at, (column, place)) in self.columns.iter().zip(&places).enumerate() {
                let value = rows.element(at, column.element);
                if !column.encoding.append(value, &mut arrays[*place].row) {
                    return Err(self.changed());
                }
            }
            for array in &mut arrays {
                array.file.write(&array.row)?;
                array.row.clear();
            }
            Ok(())
        })?;
        let finish = |array: GrowingArray<'_>| {
            let shape = [self.rows].into_iter().chain(array.width).collect();
            let stored = array.file.finish(path, array.dtype, shape)?;
            Ok((array.name.to_owned(), Table::new(vec![stored])?))
        };
        arrays.into_iter().map(finish).collect()
    }

    /// Calls `take` with an embedded column's values, row by row; `None` for a row without one.
    pub(crate) fn read_values(
        &self,
        column: &EmbeddedColumn,
        mut take: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.read_again([column.at], |row, rows| match rows.value(0).name() {
            Some(name) => take(row, &name),
            None => Ok(()),
        })
    }

    /// Reads columns of the table again, and calls `take` with each row that is not bad, and with the number of its node.
    fn read_again(
        &self,
        columns: impl IntoIterator<Item = usize>,
        mut take: impl FnMut(u64, &FileRows) -> Result<()>,
    ) -> Result<()> {
        let mut rows = self.scan.open_again(&self.file.path)?;
        rows.select(columns)?;
        let (mut count, mut all) = (0, 0);
        while rows.advance()? {
            all += 1;
            if self.bad.contains(&(all - 1)) {
                count += u64::from(self.scan.keeps_bad_ids);
                continue;
            }
            if count == self.rows {
                return Err(self.changed());
            }
            take(count, &rows)?;
            count += 1;
        }
        if count == self.rows { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> Error {
        Error::input(&self.file.path, "", "has changed while it was read")
    }

    /// Names of the columns of numbers or dates that are features.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &str> {
        let numbers =
            self.columns.iter().filter(|stored| matches!(stored.encoding, Encoding::Number { .. }));
        numbers.map(|stored| stored.column.as_str())
    }

    /// Whether a column with this name orders the nodes of a split.
    pub(crate) fn has_order(&self, column: &str) -> bool {
        let is_order = |stored: &StoredColumn| matches!(stored.encoding, Encoding::Order);
        self.columns.iter().any(|stored| stored.name == column && is_order(stored))
    }

    /// Names of the classes, if the labels are names.
    pub(crate) fn class_names(&self) -> Option<Vec<String>> {
        self.columns.iter().find_map(|column| match &column.encoding {
            Encoding::ClassName(names) => Some(texts(names)),
            Encoding::Words { words, is_label: true, .. } => Some(texts(&words.words)),
            _ => None,
        })
    }

    /// A note on the recognised format of the file, and on the use of its columns.
    pub(crate) fn summary(&self) -> String {
        let mut features = Vec::new();
        let mut others = Vec::new();
        for column in &self.columns {
            let name = &column.name;
            match &column.encoding {
                Encoding::Number { .. } if column.is_dates => {
                    features.push(format!("{name} in days since its first date"));
                }
                Encoding::Number { .. } if column.is_rounded => {
                    features.push(format!("{name} rounded to single precision"));
                }
                Encoding::Number { .. } => features.push(name.clone()),
                Encoding::OneHot { values, .. } => {
                    features.extend(texts(values).iter().map(|value| format!("{name}={value}")));
                }
                Encoding::Words { words, is_label, .. } => {
                    let texts = texts(&words.words);
                    if *is_label {
                        let count = texts.len();
                        others.push(format!("label is {name}, {count} classes, several per node"));
                    } else {
                        features.extend(texts.iter().map(|word| format!("{name} has {word}")));
                    }
                }
                Encoding::Row { scales, is_label: true, .. } => {
                    others.push(format!(
                        "label is {name}, a column for each of {} places",
                        scales.len()
                    ));
                }
                Encoding::Row { .. } => {
                    features.extend(column.scales().into_iter().map(|(name, _)| name));
                }
                Encoding::ClassName(names) => {
                    let classes = if names.len() == 1 { "class" } else { "classes" };
                    others.push(format!("label is {name}, {} {classes}", names.len()));
                }
                Encoding::ClassNumber | Encoding::Target => others.push(format!("label is {name}")),
                Encoding::Mask | Encoding::Split(_) => others.push(format!("mask {name}")),
                Encoding::Order => others.push(format!("{name} orders the split")),
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
        parts.push(self.kind.clone());
        parts.join("; ")
    }
}
