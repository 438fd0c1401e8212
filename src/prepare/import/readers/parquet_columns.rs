//! Column values of a Parquet file.

use half::f16;
use parquet::basic::{ConvertedType, Repetition};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;

use super::block::{CellBlock, Cells, NO_NUMBER, TextSpan};
use super::format::SAME_LENGTH;
use super::look::{Column, Form, Reader};
use super::parquet_file::{ParquetFile, guarded};
use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// Number of values read at a time.
const BATCH: usize = 1 << 16;

/// The problem of numbers that are larger than those that are read.
const TOO_LARGE: &str = "numbers of 2^63 and more are not read";

/// Approximate number of bytes read at a time, for long strings.
const BYTES: usize = 16 << 20;

/// Reader of the rows of a Parquet file.
pub(super) struct ParquetReader {
    file: ParquetFile,
    columns: Vec<Column>,
    /// Number of rows read so far.
    done: u64,
    /// Number of row groups opened so far.
    groups: usize,
    /// Columns of the current group.
    readers: Vec<ColumnReader>,
    /// Number of rows of the current group that take [`BYTES`].
    most: usize,
    /// Remaining rows of a group from which no column is read.
    bare: usize,
}

impl ParquetReader {
    pub(super) fn new(file: ParquetFile, columns: Vec<Column>) -> Self {
        let (done, groups, readers, most, bare) = (0, 0, Vec::new(), BATCH, 0);
        ParquetReader { file, columns, done, groups, readers, most, bare }
    }

    fn read_batch(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let width = |at: &usize| self.columns[*at].width.unwrap_or(1).max(1);
        let all: usize = columns.iter().map(width).sum();
        let mut most = (BATCH / all.max(1)).min(self.most).max(1);
        let broken = |e: ParquetError| self.file.unreadable(&e);
        loop {
            block.clear();
            if columns.is_empty() && self.bare > 0 {
                block.rows = self.bare.min(most);
                self.bare -= block.rows;
                return Ok(());
            }
            let mut rows = None;
            for (reader, &at) in self.readers.iter_mut().zip(columns) {
                let column = &self.columns[at];
                let descriptor = self.file.schema().column(at);
                let mut values = Values {
                    level: descriptor.max_def_level(),
                    width: column.width,
                    most,
                    rows: 0,
                    uneven: None,
                };
                let cells = if column.form == Form::List {
                    let is_optional = descriptor.self_type().get_basic_info().repetition()
                        == Repetition::OPTIONAL;
                    let empty = values.level - i16::from(is_optional) - 1;
                    values.lists(reader, empty, block).map(Cells::Text)
                } else {
                    let is_decimal = descriptor.converted_type() == ConvertedType::DECIMAL;
                    let scale = is_decimal.then(|| 10f64.powi(descriptor.type_scale()));
                    values.read(reader, &column.form, scale, block)
                };
                let cells = cells.map_err(|e| match e {
                    ParquetError::General(problem) if problem == TOO_LARGE => {
                        let name = &column.name;
                        let problem = format!("column {name}: {problem}");
                        Error::input(&self.file.path, "", problem).with_hint(format!(
                            "write them as strings; in pandas: df[\"{name}\"] = df[\"{name}\"].astype(str)"
                        ))
                    }
                    other => broken(other),
                })?;
                if let Some(uneven) = values.uneven {
                    return Err(self.uneven(column, uneven));
                }
                if *rows.get_or_insert(values.rows) != values.rows {
                    let problem = "has columns of different lengths";
                    return Err(Error::input(&self.file.path, "", problem));
                }
                block.columns.push(cells);
            }
            block.rows = rows.unwrap_or(0);
            if block.rows > 0 || self.groups == self.file.reader.num_row_groups() {
                return Ok(());
            }
            let group = self.file.reader.get_row_group(self.groups).map_err(broken)?;
            self.groups += 1;
            let readers = columns.iter().map(|at| group.get_column_reader(*at));
            self.readers = readers.collect::<Result<_, _>>().map_err(broken)?;
            self.bare = group.metadata().num_rows().max(0) as usize;
            let sizes = columns.iter().map(|at| group.metadata().column(*at).uncompressed_size());
            let size = sizes.sum::<i64>().max(0) as usize / self.bare.max(1);
            self.most = BYTES / size.max(1);
            most = most.min(self.most).max(1);
        }
    }

    fn uneven(&self, column: &Column, uneven: Uneven) -> Error {
        let row = self.done + uneven.row as u64;
        let (count, width) = (uneven.count, column.width.unwrap_or(1));
        let problem =
            format!("column {}: a list of {count}, but the first list has {width}", column.name);
        Error::input(&self.file.path, &format!("row {row}"), problem).with_hint(SAME_LENGTH)
    }
}

impl Reader for ParquetReader {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let path = self.file.path.clone();
        guarded(&path, || self.read_batch(columns, block))?;
        // Places in a block have 32 bits.
        if u32::try_from(block.bytes.len()).is_err() {
            return Err(Error::input(&path, "", "holds strings of more than 4 GiB in a few rows")
                .with_hint("leave the column of long strings out"));
        }
        self.done += block.rows as u64;
        if std::str::from_utf8(&block.bytes).is_err() {
            return Err(Error::input(&path, "", "holds bytes that are not UTF-8")
                .with_hint("write them as strings, or leave the column out"));
        }
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        let (bytes, rows) = (self.file.bytes, self.file.num_rows().max(1));
        (bytes as f64 * self.done as f64 / rows as f64) as u64
    }
}

/// A list whose length differs from the first list's.
#[derive(Clone, Copy)]
struct Uneven {
    row: usize,
    count: usize,
}

/// Values of a column in a batch.
struct Values {
    /// Definition level of present values.
    level: i16,
    /// Number of values per row, if values are lists.
    width: Option<usize>,
    most: usize,
    rows: usize,
    uneven: Option<Uneven>,
}

impl Values {
    fn read(
        &mut self,
        reader: &mut ColumnReader,
        form: &Form,
        scale: Option<f64>,
        block: &mut CellBlock,
    ) -> Result<Cells, ParquetError> {
        if let Some(scale) = scale {
            let bytes = |bytes: &[u8]| big_endian(bytes) / scale;
            let values = match reader {
                ColumnReader::Int32ColumnReader(reader) => {
                    self.cells(reader, f64::NAN, |value| f64::from(*value) / scale)?
                }
                ColumnReader::Int64ColumnReader(reader) => {
                    self.cells(reader, f64::NAN, |value| *value as f64 / scale)?
                }
                ColumnReader::ByteArrayColumnReader(reader) => {
                    self.cells(reader, f64::NAN, |value| bytes(value.data()))?
                }
                ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                    self.cells(reader, f64::NAN, |value| bytes(value.data()))?
                }
                _ => return Err(ParquetError::General("a decimal of another type".to_owned())),
            };
            return Ok(if scale > 1.0 { Cells::Real(values) } else { whole(values) });
        }
        Ok(match reader {
            ColumnReader::BoolColumnReader(reader) => {
                Cells::Whole(self.cells(reader, NO_NUMBER, |value| i64::from(*value))?)
            }
            ColumnReader::Int32ColumnReader(reader) if *form == Form::Number(Dtype::U32) => {
                let value = |value: &i32| i64::from(value.cast_unsigned());
                Cells::Whole(self.cells(reader, NO_NUMBER, value)?)
            }
            ColumnReader::Int32ColumnReader(reader) => {
                Cells::Whole(self.cells(reader, NO_NUMBER, |value| i64::from(*value))?)
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let mut is_large = false;
                let cells = self.cells(reader, NO_NUMBER, |value| {
                    is_large |= *value < 0;
                    *value
                })?;
                if *form == Form::Number(Dtype::U64) && is_large {
                    return Err(ParquetError::General(TOO_LARGE.to_owned()));
                }
                Cells::Whole(cells)
            }
            ColumnReader::Int96ColumnReader(reader) => {
                Cells::Whole(self.cells(reader, NO_NUMBER, parquet::data_type::Int96::to_micros)?)
            }
            ColumnReader::FloatColumnReader(reader) => {
                Cells::Real(self.cells(reader, f64::NAN, |value| f64::from(*value))?)
            }
            ColumnReader::DoubleColumnReader(reader) => {
                Cells::Real(self.cells(reader, f64::NAN, |value| *value)?)
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                Cells::Real(self.cells(reader, f64::NAN, |value| match value.data() {
                    [low, high] => f16::from_le_bytes([*low, *high]).to_f64(),
                    _ => f64::NAN,
                })?)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                Cells::Text(
                    self.cells(reader, TextSpan::default(), |value| block.add_text(value.data()))?,
                )
            }
        })
    }

    /// The next lists as JSON. An empty list has the level `empty`, a missing list a lower one, and a missing value in a list a
    /// higher one.
    fn lists(
        &mut self,
        reader: &mut ColumnReader,
        empty: i16,
        block: &mut CellBlock,
    ) -> Result<Vec<TextSpan>, ParquetError> {
        let (mut levels, mut repeats) = (Vec::new(), Vec::new());
        /// Reads values of a type; `show` turns each into text.
        macro_rules! words {
            ($reader:ident, $show:expr) => {{
                let mut values = Vec::new();
                let (levels, repeats) = (Some(&mut levels), Some(&mut repeats));
                (self.rows, ..) = $reader.read_records(self.most, levels, repeats, &mut values)?;
                values.iter().map($show).collect::<Vec<String>>()
            }};
        }
        let words = match reader {
            ColumnReader::BoolColumnReader(reader) => words!(reader, bool::to_string),
            ColumnReader::Int32ColumnReader(reader) => words!(reader, i32::to_string),
            ColumnReader::Int64ColumnReader(reader) => words!(reader, i64::to_string),
            ColumnReader::ByteArrayColumnReader(reader) => words!(reader, |value| {
                serde_json::json!(String::from_utf8_lossy(value.data())).to_string()
            }),
            _ => return Err(ParquetError::General("lists of another type".to_owned())),
        };
        let mut words = words.into_iter();
        let mut word = |level: i16| {
            if level == self.level {
                words.next()
            } else {
                (level > empty).then(|| "null".to_owned())
            }
        };
        let mut spans: Vec<TextSpan> = Vec::with_capacity(self.rows);
        let mut entries = levels.iter().zip(&repeats).peekable();
        while let Some((&level, _)) = entries.next() {
            let mut list = Vec::new();
            list.extend(word(level));
            while let Some((&level, _)) = entries.next_if(|(_, repeat)| **repeat > 0) {
                list.extend(word(level));
            }
            let is_missing = level < empty;
            spans.push(if is_missing {
                TextSpan::default()
            } else {
                block.add_text(format!("[{}]", list.join(",")).as_bytes())
            });
        }
        Ok(spans)
    }

    /// The next values, with `missing` in the gaps.
    fn cells<T: DataType, C: Copy>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        missing: C,
        mut cell: impl FnMut(&T::T) -> C,
    ) -> Result<Vec<C>, ParquetError> {
        let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
        let (rows, ..) =
            reader.read_records(self.most, Some(&mut levels), Some(&mut repeats), &mut values)?;
        self.rows = rows;
        let is_there = |at: usize| self.level == 0 || levels.get(at) == Some(&self.level);
        if self.width.is_none() {
            if values.len() == rows {
                return Ok(values.iter().map(cell).collect());
            }
            let mut values = values.iter();
            let mut next = |at| if is_there(at) { values.next() } else { None };
            return Ok((0..rows).map(|at| next(at).map_or(missing, &mut cell)).collect());
        }
        let width = self.width.unwrap_or(1);
        let mut cells = Vec::with_capacity(rows * width);
        let mut values = values.iter();
        let mut at = 0;
        for row in 0..rows {
            let (begin, first) = (at, cells.len());
            let mut any = false;
            // A row continues while values repeat.
            while at == begin || repeats.get(at).is_some_and(|repeat| *repeat > 0) {
                let value = if is_there(at) { values.next() } else { None };
                any |= value.is_some();
                cells.push(value.map_or(missing, &mut cell));
                at += 1;
            }
            let count = at - begin;
            // A missing list has a level and no value, and so has an empty list.
            if count == 1 && !any {
                cells.resize(first + width, missing);
            } else if count != width {
                self.uneven.get_or_insert(Uneven { row, count });
                cells.resize(first + width, missing);
            }
        }
        Ok(cells)
    }
}

/// Decimals without decimal places, as whole numbers if a double keeps all their digits.
fn whole(values: Vec<f64>) -> Cells {
    const LARGEST: f64 = (1u64 << 53) as f64;
    if values.iter().any(|value| value.abs() >= LARGEST) {
        return Cells::Real(values);
    }
    let cell = |value: f64| if value.is_nan() { NO_NUMBER } else { value as i64 };
    Cells::Whole(values.into_iter().map(cell).collect())
}

/// Decodes a big-endian integer.
fn big_endian(bytes: &[u8]) -> f64 {
    let first = bytes.first().map_or(0.0, |byte| f64::from(byte.cast_signed()));
    bytes.iter().skip(1).fold(first, |value, byte| value * 256.0 + f64::from(*byte))
}
