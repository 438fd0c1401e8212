//! Apache Parquet files.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::format::Format;
use super::look::{Ask, Column, Form, Opened, lists_hold};
use super::parquet_columns::ParquetReader;
use super::parquet_pages::check_pages;
use super::sample::MOST_COLUMNS;
use crate::formats::dgl::file::InputFile;
use crate::io::{Dtype, open_input};
use crate::platform::signals;
use crate::words::error::{Error, Result};

/// Metadata key that may hold the shape of an array; DGL's pipeline writes it.
const SHAPE: &str = "shape";

/// Number of values whose lists are measured at a time.
const VALUES: usize = 1 << 16;

pub(crate) const FORMAT: Format = Format {
    name: "Parquet",
    needs_places: true,
    has: |input| input.head.starts_with(b"PAR1"),
    open: |input, ask| guarded(&input.path, || open(&input.path, ask)),
};

/// Runs `read` on a file, and turns panics into errors: the Parquet library panics on some damaged files. Everything it
/// was working on is dropped with the error, and temporary files have no names.
pub(super) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        Err(Error::input(path, "", format!("is a damaged Parquet file: {text}")))
    })
}

pub(super) fn unreadable(path: &Path, error: &ParquetError) -> Error {
    Error::input(path, "", format!("is not a readable Parquet file: {error}"))
}

fn open(path: &Path, ask: &Ask<'_>) -> Result<Opened> {
    let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
    let file = SerializedFileReader::new(file).map_err(|e| unreadable(path, &e))?;
    let input = InputFile::open(path)?;
    check_pages(&input, file.metadata())?;
    let schema = schema_of(&file);
    if schema.num_columns() == 0 {
        return Err(Error::input(path, "", "has no columns"));
    }
    let mut columns = Vec::new();
    for (at, column) in schema.columns().iter().enumerate() {
        let name = name_of(column);
        let mut form = form_of(column);
        let is_list =
            column.max_rep_level() == 1 && !matches!(form, Form::Other { .. } | Form::List);
        let mut width = None;
        let known = ask.columns.iter().find(|known| known.name == name);
        if let Some(known) = known.filter(|_| is_list) {
            width = known.width;
            form = if known.form == Form::List { Form::List } else { form };
        } else if is_list {
            let first = first_length(&file, at).map_err(|e| unreadable(path, &e))?;
            if first > MOST_COLUMNS {
                let problem = format!("holds lists of {first} values");
                return Err(Error::input(path, &name, problem)
                    .with_hint(format!("a row may hold up to {MOST_COLUMNS} values")));
            }
            width = Some(first);
            let is_whole = matches!(&form, Form::Number(dtype) if lists_hold(*dtype));
            if is_whole
                && (ask.lists.contains(&name.as_str())
                    || !are_of_length(&file, at, first).map_err(|e| unreadable(path, &e))?)
            {
                (form, width) = (Form::List, None);
            }
        }
        columns.push(Column { name, form, width });
    }
    let keys = file.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let shape = keys.filter(|pair| pair.key == SHAPE).find_map(|pair| pair.value.clone());
    let row_shape = match shape {
        Some(shape) => Some(row_shape(path, &file, &columns, &shape)?),
        None => None,
    };
    let (rows, bytes) = (file.metadata().file_metadata().num_rows(), input.len());
    let reader = ParquetReader::new(path, file, columns.clone(), bytes, rows.max(0) as u64);
    Ok(Opened { row_shape, ..Opened::new(columns, "Parquet", Box::new(reader)) })
}

pub(super) fn schema_of(file: &SerializedFileReader<File>) -> &SchemaDescriptor {
    file.metadata().file_metadata().schema_descr()
}

/// The name of a column. A list is a group within a group, and the outer group has the name.
fn name_of(column: &ColumnDescriptor) -> String {
    match column.max_rep_level() {
        1 => column.path().parts().first().cloned().unwrap_or_default(),
        _ => column.path().string(),
    }
}

/// The dimensions of a row that a shape such as `(rows, 3, 4)` states.
fn row_shape(
    path: &Path,
    file: &SerializedFileReader<File>,
    columns: &[Column],
    told: &str,
) -> Result<Vec<u64>> {
    let rows = file.metadata().file_metadata().num_rows().max(0) as u64;
    let width: u64 = columns.iter().map(|column| column.width.unwrap_or(1) as u64).sum();
    let sides = told.trim().trim_matches(['(', ')']).split(',').map(str::trim);
    let sides: Option<Vec<u64>> =
        sides.filter(|side| !side.is_empty()).map(|side| side.parse().ok()).collect();
    let sides = sides.filter(|sides| {
        let values = sides.iter().skip(1).try_fold(1u64, |all, side| all.checked_mul(*side));
        sides.first() == Some(&rows) && values == Some(width)
    });
    let sides = sides.ok_or_else(|| {
        let problem = format!("is {told:?}, but there are {rows} rows of {width} values");
        Error::input(path, SHAPE, problem)
    })?;
    Ok(sides[1..].to_vec())
}

/// Whether all lists of a column have this length. An empty list takes a place, too.
fn are_of_length(
    file: &SerializedFileReader<File>,
    at: usize,
    length: usize,
) -> Result<bool, ParquetError> {
    let length = length.max(1);
    let of_group = |group: &RowGroupMetaData| (group.column(at).num_values(), group.num_rows());
    let mut groups = file.metadata().row_groups().iter().map(of_group);
    if groups.any(|(values, rows)| i128::from(values) != i128::from(rows) * length as i128) {
        return Ok(false);
    }
    let mut are_same = true;
    each_list(file, at, (VALUES / length).max(1), |places, _| {
        are_same = places == length;
        // After a signal, reading the first row fails.
        are_same && !signals::received()
    })?;
    Ok(are_same)
}

/// Length of the first list of a column that is not missing.
fn first_length(file: &SerializedFileReader<File>, at: usize) -> Result<usize, ParquetError> {
    let full = schema_of(file).column(at).max_def_level();
    let mut length = 0;
    each_list(file, at, 1, |places, level| {
        let is_there = places > 1 || level.is_none_or(|level| level == full);
        length = if is_there { places } else { 0 };
        !is_there
    })?;
    Ok(length)
}

/// Calls `take` with the number of places of each list of a column, and with the level of the first, while it returns
/// true. Reads `most` rows at a time.
fn each_list(
    file: &SerializedFileReader<File>,
    at: usize,
    most: usize,
    mut take: impl FnMut(usize, Option<i16>) -> bool,
) -> Result<(), ParquetError> {
    for group in 0..file.num_row_groups() {
        let mut reader = file.get_row_group(group)?.get_column_reader(at)?;
        loop {
            let (mut levels, mut repeats) = (Vec::new(), Vec::new());
            /// Reads the next rows of any type.
            macro_rules! next {
                ($($variant:ident),*) => {
                    match &mut reader {
                        $(ColumnReader::$variant(reader) => reader.read_records(
                            most, Some(&mut levels), Some(&mut repeats), &mut Vec::new(),
                        )?,)*
                    }
                };
            }
            let (rows, ..) = next!(
                BoolColumnReader,
                Int32ColumnReader,
                Int64ColumnReader,
                Int96ColumnReader,
                FloatColumnReader,
                DoubleColumnReader,
                ByteArrayColumnReader,
                FixedLenByteArrayColumnReader
            );
            if rows == 0 {
                break;
            }
            let mut first = 0;
            for list in repeats.chunk_by(|_, next| *next > 0) {
                if !take(list.len(), levels.get(first).copied()) {
                    return Ok(());
                }
                first += list.len();
            }
        }
    }
    Ok(())
}

const SECONDS_OF_DAY: f64 = 86_400.0;

/// The form of a column's values.
pub(super) fn form_of(column: &ColumnDescriptor) -> Form {
    let parts = column.path().parts();
    if column.max_rep_level() > 1 {
        return Form::nested_lists();
    }
    if column.max_rep_level() == 1
        && (parts.len() > 3 || parts.get(1).is_some_and(|p| p == "key_value"))
    {
        return Form::structures();
    }
    let date = |per_second: f64| Form::Date { per_day: SECONDS_OF_DAY * per_second };
    let (physical, converted) = (column.physical_type(), column.converted_type());
    match (physical, column.logical_type_ref()) {
        (_, Some(LogicalType::Timestamp(stamp))) => date(match stamp.unit {
            TimeUnit::MILLIS => 1e3,
            TimeUnit::MICROS => 1e6,
            TimeUnit::NANOS => 1e9,
        }),
        (Type::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16)) => Form::Number(Dtype::F16),
        (_, Some(LogicalType::Uuid)) => {
            Form::other("holds UUIDs as bytes", "in pandas: df[\"id\"] = df[\"id\"].astype(str)")
        }
        (Type::INT32, Some(LogicalType::Date)) => Form::Date { per_day: 1.0 },
        _ => match (physical, converted) {
            (_, ConvertedType::TIMESTAMP_MILLIS) => date(1e3),
            (_, ConvertedType::TIMESTAMP_MICROS) => date(1e6),
            (_, ConvertedType::DATE) => Form::Date { per_day: 1.0 },
            (_, ConvertedType::DECIMAL) | (Type::DOUBLE, _) => Form::Number(Dtype::F64),
            (Type::BOOLEAN, _) => Form::Number(Dtype::Bool),
            // Small integers are stored in 32 bits.
            (Type::INT32, ConvertedType::INT_8) => Form::Number(Dtype::I8),
            (Type::INT32, ConvertedType::UINT_8) => Form::Number(Dtype::U8),
            (Type::INT32, ConvertedType::INT_16) => Form::Number(Dtype::I16),
            (Type::INT32, ConvertedType::UINT_16) => Form::Number(Dtype::U16),
            (Type::INT32, ConvertedType::UINT_32) => Form::Number(Dtype::U32),
            (Type::INT32, _) => Form::Number(Dtype::I32),
            (Type::INT64, ConvertedType::UINT_64) => Form::Number(Dtype::U64),
            (Type::INT64, _) => Form::Number(Dtype::I64),
            (Type::INT96, _) => date(1e6),
            (Type::FLOAT, _) => Form::Number(Dtype::F32),
            (Type::BYTE_ARRAY, _) if column.max_rep_level() == 1 => Form::List,
            (Type::BYTE_ARRAY, _) => Form::Text,
            (Type::FIXED_LEN_BYTE_ARRAY, _) => {
                Form::other("holds bytes", "write numbers, truth values, dates or strings")
            }
        },
    }
}
