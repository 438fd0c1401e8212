//! Rows of Parquet files with columns of different types.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::cells::Cells;
use super::parquet::{guarded, unreadable};
use super::parquet_pages::check_pages;
use crate::error::{Error, Result};
use crate::formats::dgl::file::InputFile;
use crate::io::open_input;

/// Number of rows read at a time.
const BATCH: usize = 1 << 10;

/// The rows of a Parquet file, some columns of them, as text.
pub(super) struct ParquetRows {
    path: PathBuf,
    file: SerializedFileReader<File>,
    bytes: u64,
    columns: Vec<Column>,
    /// Number of row groups that have been opened.
    groups: usize,
    /// Number of the current row, and its place in the batch.
    row: Option<u64>,
    at: usize,
    /// Number of rows in the batch.
    batch: usize,
}

/// A column, with its fields of the current batch.
struct Column {
    at: usize,
    /// Definition level of values that are there.
    level: i16,
    unsigned: bool,
    reader: Option<ColumnReader>,
    fields: Cells,
}

impl ParquetRows {
    pub(super) fn open(path: &Path) -> Result<Self> {
        guarded(path, || {
            let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
            let file = SerializedFileReader::new(file).map_err(|e| unreadable(path, &e))?;
            let input = InputFile::open(path)?;
            check_pages(&input, file.metadata())?;
            Ok(ParquetRows {
                path: path.to_owned(),
                file,
                bytes: input.len(),
                columns: Vec::new(),
                groups: 0,
                row: None,
                at: 0,
                batch: 0,
            })
        })
    }

    pub(super) fn names(&self) -> Vec<String> {
        let columns = self.file.metadata().file_metadata().schema_descr().columns();
        columns.iter().map(|column| column.path().string()).collect()
    }

    pub(super) fn select(&mut self, columns: &[usize]) -> Result<()> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        self.columns = columns
            .iter()
            .map(|&at| {
                let column = schema.column(at);
                if let Some(problem) = obstacle(&column) {
                    return Err(Error::input(&self.path, &column.path().string(), problem)
                        .with_hint("columns hold numbers, truth values or strings"));
                }
                let unsigned = matches!(
                    column.converted_type(),
                    ConvertedType::UINT_32 | ConvertedType::UINT_64
                );
                let (level, fields) = (column.max_def_level(), Cells::default());
                Ok(Column { at, level, unsigned, reader: None, fields })
            })
            .collect::<Result<_>>()?;
        Ok(())
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
        self.columns[at].fields.get(self.at)
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

/// The reason why a column cannot be read as text.
fn obstacle(column: &ColumnDescriptor) -> Option<String> {
    if column.max_rep_level() > 0 {
        return Some("is a column of lists".to_owned());
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
        let (level, fields) = (self.level, &mut self.fields);
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

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    level: i16,
    fields: &mut Cells,
    show: impl Fn(&T::T, &mut Vec<u8>),
) -> Result<usize, ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (rows, ..) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
    let mut values = values.iter();
    for row in 0..rows {
        let is_there = level == 0 || levels.get(row) == Some(&level);
        let value = if is_there { values.next() } else { None };
        fields.push(|out| {
            if let Some(value) = value {
                show(value, out);
            }
        });
    }
    Ok(rows)
}
