//! Rows of Parquet files with columns of different types.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::cells::Cells;
use super::parquet::{guarded, unreadable};
use super::parquet_pages::check_pages;
use crate::error::{Error, Result};
use crate::formats::dgl::file::InputFile;
use crate::io::open_input;

/// Number of rows read at a time.
const BATCH: usize = 1 << 10;

/// Most values of a list; each becomes a column.
const LONGEST_LIST: usize = 1 << 14;

/// The rows of a Parquet file, some columns of them, as text.
pub(super) struct ParquetRows {
    path: PathBuf,
    file: SerializedFileReader<File>,
    bytes: u64,
    /// What stands for a column of text: a plain column, or a value of each list of a column.
    places: Vec<Place>,
    /// The places that are read, each by its column.
    selected: Vec<Selected>,
    columns: Vec<Column>,
    /// Number of row groups that have been opened.
    groups: usize,
    /// Number of the current row, and its place in the batch.
    row: Option<u64>,
    at: usize,
    /// Number of rows in the batch.
    batch: usize,
}

/// Where the values of a column of text are.
#[derive(Clone, Copy)]
struct Place {
    /// The column of the file.
    at: usize,
    /// The place in the column's lists; `None` for a column without lists.
    of_list: Option<usize>,
    /// Number of values of a row.
    width: usize,
}

/// A place that is read.
struct Selected {
    /// Number of the column among those that are read.
    column: usize,
    of_list: usize,
}

/// A column, with its fields of the current batch.
struct Column {
    at: usize,
    /// Number of fields of a row.
    width: usize,
    /// The first row of the batch whose list has another length, and that length.
    uneven: Option<Uneven>,
    /// Definition level of values that are there.
    level: i16,
    unsigned: bool,
    reader: Option<ColumnReader>,
    fields: Cells,
}

/// A list that has not as many values as the first.
#[derive(Clone, Copy)]
struct Uneven {
    row: usize,
    count: usize,
}

impl ParquetRows {
    pub(super) fn open(path: &Path) -> Result<Self> {
        guarded(path, || {
            let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
            let file = SerializedFileReader::new(file).map_err(|e| unreadable(path, &e))?;
            let input = InputFile::open(path)?;
            check_pages(&input, file.metadata())?;
            let places = places(path, &file)?;
            Ok(ParquetRows {
                path: path.to_owned(),
                file,
                bytes: input.len(),
                places,
                selected: Vec::new(),
                columns: Vec::new(),
                groups: 0,
                row: None,
                at: 0,
                batch: 0,
            })
        })
    }

    /// Names of the columns. The values of lists are columns of their own, `name[0]`, `name[1]` and so on.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.places.iter().map(|place| {
            let name = self.name_of(place.at);
            place.of_list.map_or_else(|| name.clone(), |value| format!("{name}[{value}]"))
        });
        names.collect()
    }

    /// The column of lists that a column of text is part of.
    pub(super) fn list_of(&self, at: usize) -> Option<String> {
        let Place { at, of_list, .. } = self.places.get(at)?;
        of_list.map(|_| self.name_of(*at))
    }

    fn name_of(&self, at: usize) -> String {
        name_of(&schema_of(&self.file).column(at))
    }

    pub(super) fn select(&mut self, places: &[usize]) -> Result<()> {
        (self.columns, self.selected) = (Vec::new(), Vec::new());
        for Place { at, of_list, width } in places.iter().map(|place| self.places[*place]) {
            let known = self.columns.iter().position(|column| column.at == at);
            let column = known.unwrap_or(self.columns.len());
            self.selected.push(Selected { column, of_list: of_list.unwrap_or(0) });
            if known.is_none() {
                self.columns.push(self.column(at, width)?);
            }
        }
        Ok(())
    }

    fn column(&self, at: usize, width: usize) -> Result<Column> {
        let column = schema_of(&self.file).column(at);
        if let Some(problem) = obstacle(&column) {
            return Err(Error::input(&self.path, &column.path().string(), problem)
                .with_hint("columns hold numbers, truth values or strings, or lists of numbers"));
        }
        let unsigned =
            matches!(column.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64);
        let (level, fields) = (column.max_def_level(), Cells::default());
        Ok(Column { at, width, uneven: None, level, unsigned, reader: None, fields })
    }

    pub(super) fn advance(&mut self) -> Result<bool> {
        self.at += 1;
        while self.at >= self.batch {
            if !self.next_batch()? {
                return Ok(false);
            }
        }
        self.row = Some(self.row.map_or(0, |row| row + 1));
        Ok(true)
    }

    pub(super) fn field(&self, at: usize) -> &[u8] {
        let Selected { column, of_list } = self.selected[at];
        let column = &self.columns[column];
        column.fields.get(self.at * column.width + of_list)
    }

    pub(super) fn number(&self) -> u64 {
        self.row.unwrap_or(0)
    }

    pub(super) fn bytes_read(&self) -> u64 {
        let rows = self.file.metadata().file_metadata().num_rows().max(1);
        (self.bytes as f64 * self.number() as f64 / rows as f64) as u64
    }

    /// Reads the next rows; false at the end.
    fn next_batch(&mut self) -> Result<bool> {
        let first_row = self.row.map_or(0, |row| row + 1);
        let ParquetRows { path, file, columns, groups, .. } = self;
        let batch = guarded(path, || {
            loop {
                let mut counts = columns.iter_mut().map(Column::read);
                let first = counts.next().unwrap_or(Ok(0)).map_err(|e| unreadable(path, &e))?;
                for count in counts {
                    if count.map_err(|e| unreadable(path, &e))? != first {
                        return Err(Error::input(path, "", "has columns of different lengths"));
                    }
                }
                if let Some((column, uneven)) = columns.iter().find_map(|c| Some((c, c.uneven?))) {
                    let column_name = name_of(&schema_of(file).column(column.at));
                    let row = first_row + uneven.row as u64;
                    let (count, width) = (uneven.count, column.width);
                    let problem = format!(
                        "column {column_name}: a list of {count}, but the first list has {width}"
                    );
                    return Err(Error::input(path, &format!("row {row}"), problem)
                        .with_hint("lists become columns, so all have the same length"));
                }
                if first > 0 {
                    return Ok(Some(first));
                }
                if *groups == file.num_row_groups() {
                    return Ok(None);
                }
                let group = file.get_row_group(*groups).map_err(|e| unreadable(path, &e))?;
                *groups += 1;
                for column in columns.iter_mut() {
                    let reader = group.get_column_reader(column.at);
                    column.reader = Some(reader.map_err(|e| unreadable(path, &e))?);
                }
            }
        })?;
        (self.at, self.batch) = (0, batch.unwrap_or(0));
        Ok(batch.is_some())
    }
}

fn schema_of(file: &SerializedFileReader<File>) -> &SchemaDescriptor {
    file.metadata().file_metadata().schema_descr()
}

/// The name of a column. Lists are groups in groups, of which the outer one has the name.
fn name_of(column: &ColumnDescriptor) -> String {
    match column.max_rep_level() {
        1 => column.path().parts().first().cloned().unwrap_or_default(),
        _ => column.path().string(),
    }
}

/// The places of all values of a row. The first list of a column shows how long its lists are.
fn places(path: &Path, file: &SerializedFileReader<File>) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for (at, column) in schema_of(file).columns().iter().enumerate() {
        if column.max_rep_level() != 1 || obstacle(column).is_some() {
            places.push(Place { at, of_list: None, width: 1 });
            continue;
        }
        let width = first_length(file, at).map_err(|e| unreadable(path, &e))?;
        if width > LONGEST_LIST {
            let problem = format!("holds lists of {width} values");
            return Err(Error::input(path, &name_of(column), problem)
                .with_hint(format!("up to {LONGEST_LIST} become columns")));
        }
        places.extend((0..width).map(|value| Place { at, of_list: Some(value), width }));
    }
    Ok(places)
}

/// The number of values in the first list of a column.
fn first_length(file: &SerializedFileReader<File>, at: usize) -> Result<usize, ParquetError> {
    for group in 0..file.num_row_groups() {
        let mut reader = file.get_row_group(group)?.get_column_reader(at)?;
        let mut repeats = Vec::new();
        /// Reads the first row of any type.
        macro_rules! first {
            ($($variant:ident),*) => {
                match &mut reader {
                    $(ColumnReader::$variant(reader) => {
                        reader.read_records(1, Some(&mut Vec::new()), Some(&mut repeats), &mut Vec::new())?
                    })*
                }
            };
        }
        first!(
            BoolColumnReader,
            Int32ColumnReader,
            Int64ColumnReader,
            Int96ColumnReader,
            FloatColumnReader,
            DoubleColumnReader,
            ByteArrayColumnReader,
            FixedLenByteArrayColumnReader
        );
        if !repeats.is_empty() {
            return Ok(repeats.len());
        }
    }
    Ok(0)
}

/// The reason why a column cannot be read as text.
fn obstacle(column: &ColumnDescriptor) -> Option<String> {
    if column.max_rep_level() > 1 {
        return Some("is a column of lists of lists".to_owned());
    }
    if column.max_rep_level() == 1 && column.physical_type() == Type::BYTE_ARRAY {
        return Some("is a column of lists of strings".to_owned());
    }
    let kind = (column.physical_type(), column.converted_type());
    match kind {
        (Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY, _) | (_, ConvertedType::DECIMAL) => {
            Some(format!("is a column of {}", column.physical_type()))
        }
        _ => None,
    }
}

impl Column {
    /// Reads the next fields; returns their number.
    fn read(&mut self) -> Result<usize, ParquetError> {
        self.fields.clear();
        let (level, width) = (self.level, self.width);
        let fields = &mut Fields { cells: &mut self.fields, width, uneven: &mut self.uneven };
        // Writing to memory does not fail.
        let display = |value: &dyn std::fmt::Display, out: &mut Vec<u8>| {
            let _ = write!(out, "{value}");
        };
        match (&mut self.reader, self.unsigned) {
            (None, _) => Ok(0),
            (Some(ColumnReader::BoolColumnReader(reader)), _) => {
                read(reader, level, fields, |value, out| display(value, out))
            }
            (Some(ColumnReader::Int32ColumnReader(reader)), true) => {
                read(reader, level, fields, |value, out| display(&value.cast_unsigned(), out))
            }
            (Some(ColumnReader::Int32ColumnReader(reader)), false) => {
                read(reader, level, fields, |value, out| display(value, out))
            }
            (Some(ColumnReader::Int64ColumnReader(reader)), true) => {
                read(reader, level, fields, |value, out| display(&value.cast_unsigned(), out))
            }
            (Some(ColumnReader::Int64ColumnReader(reader)), false) => {
                read(reader, level, fields, |value, out| display(value, out))
            }
            // pandas writes NaN for a missing number.
            (Some(ColumnReader::FloatColumnReader(reader)), _) => {
                read(reader, level, fields, |value, out| {
                    if !value.is_nan() {
                        display(value, out);
                    }
                })
            }
            (Some(ColumnReader::DoubleColumnReader(reader)), _) => {
                read(reader, level, fields, |value, out| {
                    if !value.is_nan() {
                        display(value, out);
                    }
                })
            }
            (Some(ColumnReader::ByteArrayColumnReader(reader)), _) => {
                read(reader, level, fields, |value, out| out.extend_from_slice(value.data()))
            }
            (Some(_), _) => Err(ParquetError::General("a column of another type".to_owned())),
        }
    }
}

/// The fields of a column's rows.
struct Fields<'c> {
    cells: &'c mut Cells,
    /// Number of fields of a row.
    width: usize,
    uneven: &'c mut Option<Uneven>,
}

impl Fields<'_> {
    /// Ends a row in which `count` fields were added. A missing list has no values.
    fn end_row(&mut self, row: usize, count: usize, is_missing: bool) {
        if is_missing {
            (count..self.width).for_each(|_| self.cells.push(|_| {}));
        } else if count != self.width {
            self.uneven.get_or_insert(Uneven { row, count });
        }
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    level: i16,
    fields: &mut Fields<'_>,
    show: impl Fn(&T::T, &mut Vec<u8>),
) -> Result<usize, ParquetError> {
    let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
    let (rows, ..) =
        reader.read_records(BATCH, Some(&mut levels), Some(&mut repeats), &mut values)?;
    let mut values = values.iter();
    let mut at = 0;
    for row in 0..rows {
        let begin = at;
        let mut any = false;
        // A row goes on while values repeat; without lists, nothing does.
        while at == begin || repeats.get(at).is_some_and(|repeat| *repeat > 0) {
            let is_there = level == 0 || levels.get(at) == Some(&level);
            let value = if is_there { values.next() } else { None };
            any |= is_there;
            fields.cells.push(|out| {
                if let Some(value) = value {
                    show(value, out);
                }
            });
            at += 1;
        }
        fields.end_row(row, at - begin, at - begin == 1 && !any);
    }
    Ok(rows)
}
