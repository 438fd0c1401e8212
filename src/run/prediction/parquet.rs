//! Tables as Parquet files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::columns::{TableColumns, TableFile, TableRows};
use crate::error::{Error, Result};
use crate::io::{Dtype, ResultFile};
use crate::platform::signals;

/// A Parquet file, which is written in groups of rows.
pub(super) struct Groups {
    writer: SerializedFileWriter<ResultFile>,
    path: PathBuf,
}

impl Groups {
    /// Starts a file of rows with these columns.
    pub(super) fn new(
        file: ResultFile,
        name: &str,
        columns: Vec<Result<Type, ParquetError>>,
    ) -> Result<Self> {
        let path = file.name().to_owned();
        let failed = |e| failed(&path, &e);
        let fields = columns.into_iter().map(|field| field.map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder(name).with_fields(fields).build();
        let schema = Arc::new(schema.map_err(failed)?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties));
        let writer = writer.map_err(failed)?;
        Ok(Groups { writer, path })
    }

    /// Adds the rows that `write` writes, column by column.
    pub(super) fn group(
        &mut self,
        write: impl FnOnce(&mut SerializedRowGroupWriter<'_, ResultFile>) -> Result<(), ParquetError>,
    ) -> Result<()> {
        let written = self.writer.next_row_group().and_then(|mut group| {
            write(&mut group)?;
            group.close().map(drop)
        });
        written.map_err(|e| failed(&self.path, &e))
    }

    pub(super) fn finish(self) -> Result<()> {
        let Groups { writer, path } = self;
        writer.into_inner().map_err(|e| failed(&path, &e))?.commit()
    }
}

/// A table of predictions with a group of rows for each block of them.
pub(super) struct ParquetTable(Groups);

impl ParquetTable {
    /// Starts the table.
    pub(super) fn new(file: ResultFile, columns: &TableColumns) -> Result<Self> {
        let mut fields = vec![node_column(columns.node, columns.named)];
        fields.extend((!columns.types.is_empty()).then(|| text_column("type")));
        fields.extend(columns.headings.iter().map(|heading| {
            if columns.classes.is_empty() {
                number_column(heading, columns.form.dtype)
            } else {
                text_column(heading)
            }
        }));
        Ok(ParquetTable(Groups::new(file, "prediction", fields)?))
    }
}

impl TableFile for ParquetTable {
    fn rows(&mut self, columns: &TableColumns, rows: &TableRows) -> Result<()> {
        self.0.group(|group| write_group(group, columns, rows))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()
    }
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, ResultFile>,
    columns: &TableColumns,
    rows: &TableRows,
) -> Result<(), ParquetError> {
    if columns.named {
        write_texts(group, rows.names.iter().map(Vec::as_slice))?;
    } else {
        let ids: Vec<i64> = rows.ids.iter().map(|id| *id as i64).collect();
        write_column::<Int64Type>(group, &ids)?;
    }
    if !columns.types.is_empty() {
        write_texts(group, rows.types.iter().map(|ntype| columns.types[*ntype].as_bytes()))?;
    }
    let dtype = columns.form.dtype;
    let row_bytes = columns.form.row_bytes().max(1);
    for index in 0..columns.headings.len() {
        let bytes: Vec<u8> = rows
            .values
            .chunks(row_bytes)
            .flat_map(|row| row[index * dtype.size()..][..dtype.size()].iter().copied())
            .collect();
        write_numbers(group, columns, &bytes)?;
    }
    Ok(())
}

/// Writes the next column of a group.
pub(super) fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, ResultFile>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let column = group.next_column()?;
    let missing = || ParquetError::General("a column is missing".to_owned());
    let mut column = column.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// Writes the next column of a group, of texts.
pub(super) fn write_texts<'t>(
    group: &mut SerializedRowGroupWriter<'_, ResultFile>,
    texts: impl Iterator<Item = &'t [u8]>,
) -> Result<(), ParquetError> {
    let texts: Vec<ByteArray> = texts.map(|text| ByteArray::from(text.to_vec())).collect();
    write_column::<ByteArrayType>(group, &texts)
}

fn write_numbers(
    group: &mut SerializedRowGroupWriter<'_, ResultFile>,
    columns: &TableColumns,
    bytes: &[u8],
) -> Result<(), ParquetError> {
    let dtype = columns.form.dtype;
    if dtype == Dtype::F32 {
        let mut values = vec![0.0; bytes.len() / dtype.size()];
        dtype.to_f32(bytes, &mut values);
        return write_column::<FloatType>(group, &values);
    }
    let mut values = vec![0; bytes.len() / dtype.size()];
    let number = |_| ParquetError::General("a prediction is not a number".to_owned());
    dtype.to_i64(bytes, &mut values).map_err(number)?;
    if !columns.classes.is_empty() {
        let name =
            |class: &i64| columns.class(*class).map_or_else(|| class.to_string(), str::to_owned);
        let names: Vec<String> = values.iter().map(name).collect();
        write_texts(group, names.iter().map(String::as_bytes))
    } else if dtype == Dtype::I64 {
        write_column::<Int64Type>(group, &values)
    } else {
        let values: Vec<i32> = values.iter().map(|value| *value as i32).collect();
        write_column::<Int32Type>(group, &values)
    }
}

/// A column of nodes, by their names or by their ids.
pub(super) fn node_column(name: &str, named: bool) -> Result<Type, ParquetError> {
    if named { text_column(name) } else { number_column(name, Dtype::I64) }
}

pub(super) fn text_column(name: &str) -> Result<Type, ParquetError> {
    let column = Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY);
    let column = column.with_logical_type(Some(LogicalType::String));
    column.with_repetition(Repetition::REQUIRED).build()
}

pub(super) fn number_column(name: &str, dtype: Dtype) -> Result<Type, ParquetError> {
    let physical = match dtype {
        Dtype::F32 => PhysicalType::FLOAT,
        Dtype::I64 => PhysicalType::INT64,
        _ => PhysicalType::INT32,
    };
    let column = Type::primitive_type_builder(name, physical);
    column.with_repetition(Repetition::REQUIRED).build()
}

fn failed(path: &Path, error: &ParquetError) -> Error {
    if signals::received() {
        return Error::interrupted();
    }
    let source = std::error::Error::source(error);
    let system = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    match system.and_then(std::io::Error::raw_os_error) {
        Some(code) => Error::io("write", path, std::io::Error::from_raw_os_error(code)),
        None => Error::internal(format!("cannot write {}: {error}", path.display())),
    }
}
