//! Apache Parquet files.

use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::schema::types::ColumnDescriptor;

use super::format::Format;
use super::look::{Ask, Column, Form, Opened, lists_hold};
use super::parquet_columns::ParquetReader;
use super::parquet_file::{ParquetFile, guarded};
use super::sample::MOST_COLUMNS;
use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// Metadata key that may hold the shape of an array; DGL's pipeline writes it.
const SHAPE: &str = "shape";

pub(crate) const FORMAT: Format = Format {
    name: "Parquet",
    needs_places: true,
    has: |input| input.head.starts_with(b"PAR1"),
    open: |input, ask| guarded(&input.path, || open(&input.path, ask)),
};

fn open(path: &Path, ask: &Ask<'_>) -> Result<Opened> {
    let file = ParquetFile::open(path)?;
    let schema = file.schema();
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
            let first = file.first_length(at)?;
            if first > MOST_COLUMNS {
                let problem = format!("holds lists of {first} values");
                return Err(Error::input(path, &name, problem)
                    .with_hint(format!("a row may hold up to {MOST_COLUMNS} values")));
            }
            width = Some(first);
            let is_whole = matches!(&form, Form::Number(dtype) if lists_hold(*dtype));
            if is_whole && (ask.lists.contains(&name.as_str()) || !file.are_of_length(at, first)?) {
                (form, width) = (Form::List, None);
            }
        }
        columns.push(Column { name, form, width });
    }
    let keys = file.metadata().key_value_metadata().into_iter().flatten();
    let shape = keys.filter(|pair| pair.key == SHAPE).find_map(|pair| pair.value.clone());
    let row_shape = shape.map(|shape| row_shape(&file, &columns, &shape)).transpose()?;
    let reader = ParquetReader::new(file, columns.clone());
    Ok(Opened { row_shape, ..Opened::new(columns, "Parquet", Box::new(reader)) })
}

/// The name of a column. A list is a group within a group, and the outer group has the name.
fn name_of(column: &ColumnDescriptor) -> String {
    match column.max_rep_level() {
        1 => column.path().parts().first().cloned().unwrap_or_default(),
        _ => column.path().string(),
    }
}

/// The dimensions of a row that a shape such as `(rows, 3, 4)` states.
fn row_shape(file: &ParquetFile, columns: &[Column], told: &str) -> Result<Vec<u64>> {
    let rows = file.num_rows();
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
        Error::input(&file.path, SHAPE, problem)
    })?;
    Ok(sides[1..].to_vec())
}

const SECONDS_OF_DAY: f64 = 86_400.0;

/// The form of a column's values.
fn form_of(column: &ColumnDescriptor) -> Form {
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
