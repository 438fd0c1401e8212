//! Apache Parquet files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::parquet_pages::check_pages;
use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::file::InputFile;
use crate::io::{Dtype, open_input};

/// Number of rows read at a time.
const BATCH: usize = 8 << 10;

/// The key of a file's metadata that may hold the shape of an array; DGL's pipeline writes it.
const SHAPE: &str = "shape";

/// Reads a table of numbers: a column per value of a row, or one column of lists of equal length. One plain column gives
/// `[rows]`, others `[rows, values]`; `shape` in the metadata may add dimensions. The values go to an unnamed file in `folder`.
///
/// # Errors
/// If the file cannot be read, is damaged, or holds other data.
pub(super) fn read_parquet(path: &Path, folder: &Path) -> Result<ArrayRef> {
    guarded(path, || read_table(path, folder))
}

/// Runs `read` on a file. The Parquet library panics on some damaged files. All that it was working on is dropped with the
/// error, and temporary files have no names.
pub(super) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        Err(Error::input(path, "", format!("is a damaged Parquet file: {text}")))
    })
}

fn read_table(path: &Path, folder: &Path) -> Result<ArrayRef> {
    let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
    let reader = SerializedFileReader::new(file).map_err(|e| unreadable(path, &e))?;
    check_pages(&InputFile::open(path)?, reader.metadata())?;
    let metadata = reader.metadata().file_metadata();
    let columns = metadata.schema_descr().columns();
    let Some(first) = columns.first() else {
        return Err(Error::input(path, "", "has no columns"));
    };
    let Some(dtype) = dtype_of(first) else {
        let problem = format!("is a column of {}, not of numbers", first.physical_type());
        return Err(Error::input(path, first.name(), problem));
    };
    let is_list = first.max_rep_level() == 1 && columns.len() == 1;
    for column in columns {
        if dtype_of(column) != Some(dtype) {
            let problem = format!("has another type than column {}", first.name());
            return Err(Error::input(path, column.name(), problem));
        }
        if column.max_rep_level() > 0 && !is_list {
            return Err(Error::input(path, column.name(), "is a column of lists among others"));
        }
    }
    let temporary = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
    let mut table = Table {
        path,
        folder,
        out: BufWriter::new(temporary),
        dtype,
        width: if is_list { None } else { Some(columns.len()) },
        rows: 0,
    };
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(|e| unreadable(path, &e))?;
        let open = |at| group.get_column_reader(at).map_err(|e| unreadable(path, &e));
        let readers = (0..columns.len()).map(open).collect::<Result<Vec<_>>>()?;
        table.read_group(readers)?;
    }
    let keys = metadata.key_value_metadata().into_iter().flatten();
    let told = keys.filter(|pair| pair.key == SHAPE).find_map(|pair| pair.value.as_deref());
    let plain = !is_list && columns.len() == 1;
    table.finish(told, plain)
}

/// The element type of a column of numbers.
fn dtype_of(column: &ColumnDescriptor) -> Option<Dtype> {
    Some(match (column.physical_type(), column.converted_type()) {
        (Type::BOOLEAN, _) => Dtype::Bool,
        // Small integers are stored in 32 bits.
        (Type::INT32, ConvertedType::INT_8) => Dtype::I8,
        (Type::INT32, ConvertedType::UINT_8) => Dtype::U8,
        (Type::INT32, ConvertedType::INT_16) => Dtype::I16,
        (Type::INT32, ConvertedType::UINT_16) => Dtype::U16,
        (Type::INT32, ConvertedType::UINT_32) => Dtype::U32,
        (Type::INT32, _) => Dtype::I32,
        (Type::INT64, ConvertedType::UINT_64) => Dtype::U64,
        (Type::INT64, _) => Dtype::I64,
        (Type::FLOAT, _) => Dtype::F32,
        (Type::DOUBLE, _) => Dtype::F64,
        _ => return None,
    })
}

/// Values on their way to a file, row by row.
struct Table<'a> {
    path: &'a Path,
    folder: &'a Path,
    out: BufWriter<File>,
    dtype: Dtype,
    /// Number of values per row, once that is known.
    width: Option<usize>,
    rows: u64,
}

impl Table<'_> {
    fn read_group(&mut self, readers: Vec<ColumnReader>) -> Result<()> {
        let size = self.dtype.size();
        /// Collects all column readers of one type.
        macro_rules! typed {
            ($($variant:ident => $bytes:expr),*) => {
                match readers.first() {
                    $(Some(ColumnReader::$variant(_)) => {
                        let typed = readers.into_iter().filter_map(|reader| match reader {
                            ColumnReader::$variant(reader) => Some(reader),
                            _ => None,
                        });
                        self.read_columns(typed.collect(), $bytes)
                    })*
                    _ => Ok(()),
                }
            };
        }
        typed!(
            BoolColumnReader => |value: bool, out| out.push(u8::from(value)),
            Int32ColumnReader => |value: i32, out| out.extend(&value.to_le_bytes()[..size]),
            Int64ColumnReader => |value: i64, out| out.extend(value.to_le_bytes()),
            FloatColumnReader => |value: f32, out| out.extend(value.to_le_bytes()),
            DoubleColumnReader => |value: f64, out| out.extend(value.to_le_bytes())
        )
    }

    fn read_columns<T: DataType>(
        &mut self,
        mut readers: Vec<ColumnReaderImpl<T>>,
        bytes: impl Fn(T::T, &mut Vec<u8>),
    ) -> Result<()>
    where
        T::T: Clone,
    {
        let mut out = Vec::new();
        loop {
            let mut columns = Vec::with_capacity(readers.len());
            for reader in &mut readers {
                columns.push(self.read_batch(reader)?);
            }
            // All columns of a group have the same number of rows.
            let values = columns.first().map_or(0, Vec::len);
            if values == 0 {
                return Ok(());
            }
            if columns.iter().any(|column| column.len() != values) {
                return Err(Error::input(self.path, "", "has columns of different lengths"));
            }
            out.clear();
            for at in 0..values {
                for column in &columns {
                    bytes(column[at].clone(), &mut out);
                }
            }
            let written = self.out.write_all(&out);
            written.map_err(|e| Error::io("write a temporary file in", self.folder, e))?;
        }
    }

    /// Reads the next values of a column; checks that no row lacks a value and that lists have one length.
    fn read_batch<T: DataType>(&mut self, reader: &mut ColumnReaderImpl<T>) -> Result<Vec<T::T>> {
        let (mut values, mut present, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
        let read = reader.read_records(BATCH, Some(&mut present), Some(&mut repeats), &mut values);
        let (rows, _, levels) = read.map_err(|e| unreadable(self.path, &e))?;
        if values.len() < levels {
            return Err(Error::input(self.path, "", "holds rows without a value (null)"));
        }
        if self.width.is_none() && rows > 0 {
            let next = repeats.iter().skip(1).position(|&level| level == 0);
            self.width = Some(next.map_or(repeats.len(), |at| at + 1));
        }
        let starts = repeats.iter().enumerate().filter(|(_, level)| **level == 0);
        let listed = !repeats.is_empty();
        let width = if listed { self.width.unwrap_or(1) } else { 1 };
        if values.len() != rows * width
            || starts.clone().any(|(at, _)| !at.is_multiple_of(width.max(1)))
        {
            return Err(Error::input(self.path, "", "holds lists of different lengths"));
        }
        self.rows += rows as u64;
        Ok(values)
    }

    fn finish(self, told: Option<&str>, plain: bool) -> Result<ArrayRef> {
        let Table { path, folder, out, dtype, width, rows } = self;
        let width = width.unwrap_or(0) as u64;
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error);
        let file = file.map_err(|e| Error::io("write a temporary file in", folder, e))?;
        let file = InputFile::from_open(path, file)?;
        // Each column of a row was counted.
        let all = file.len().checked_div(width * dtype.size() as u64);
        let rows = if plain { rows } else { all.unwrap_or(0) };
        let mut shape = vec![rows];
        if !plain {
            shape.push(width);
        }
        if let Some(told) = told {
            let sides = told.trim().trim_matches(['(', ')']).split(',').map(str::trim);
            let sides: Option<Vec<u64>> =
                sides.filter(|side| !side.is_empty()).map(|side| side.parse().ok()).collect();
            let sides = sides.filter(|sides| {
                let values =
                    sides.iter().skip(1).try_fold(1u64, |all, side| all.checked_mul(*side));
                sides.first() == Some(&rows) && values == Some(width)
            });
            shape = sides.ok_or_else(|| {
                let problem = format!("is {told:?}, but there are {rows} rows of {width} values");
                Error::input(path, SHAPE, problem)
            })?;
        }
        ArrayRef::new(&file, "", dtype, shape, 0)
            .ok_or_else(|| Error::internal("a table is shorter than what was written".to_owned()))
    }
}

pub(super) fn unreadable(path: &Path, error: &ParquetError) -> Error {
    Error::input(path, "", format!("is not a readable Parquet file: {error}"))
}
