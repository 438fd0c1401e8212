//! Tables as Parquet files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::cells::{ColumnKind, OutputCells, OutputColumn};
use crate::io::ResultFile;
use crate::platform::signals;
use crate::words::error::{Error, Result};

/// A Parquet file, which is written in groups of rows.
pub(super) struct ParquetTable {
    writer: SerializedFileWriter<ResultFile>,
    path: PathBuf,
}

impl ParquetTable {
    /// Starts a file of rows with these columns.
    pub(super) fn new(file: ResultFile, name: &str, columns: &[OutputColumn]) -> Result<Self> {
        let path = file.name().to_owned();
        let failed = |e| failed(&path, &e);
        let fields = columns.iter().map(|column| field(column).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder(name).with_fields(fields).build();
        let schema = Arc::new(schema.map_err(failed)?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties));
        let writer = writer.map_err(failed)?;
        Ok(ParquetTable { writer, path })
    }

    /// Adds some rows as a group.
    pub(super) fn rows(&mut self, columns: Vec<OutputCells>) -> Result<()> {
        let written = self.writer.next_row_group().and_then(|mut group| {
            for cells in columns {
                write_cells(&mut group, cells)?;
            }
            group.close().map(drop)
        });
        written.map_err(|e| failed(&self.path, &e))
    }

    /// Ends the table and gives the file its name.
    pub(super) fn finish(self) -> Result<()> {
        let ParquetTable { writer, path } = self;
        writer.into_inner().map_err(|e| failed(&path, &e))?.commit()
    }
}

fn field(column: &OutputColumn) -> Result<Type, ParquetError> {
    let physical = match column.kind {
        ColumnKind::Text => PhysicalType::BYTE_ARRAY,
        ColumnKind::Int32 => PhysicalType::INT32,
        ColumnKind::Int64 => PhysicalType::INT64,
        ColumnKind::Float32 => PhysicalType::FLOAT,
    };
    let is_text = column.kind == ColumnKind::Text;
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(is_text.then_some(LogicalType::String))
        .with_repetition(Repetition::REQUIRED)
        .build()
}

/// Writes the next column of a group.
fn write_cells(
    group: &mut SerializedRowGroupWriter<'_, ResultFile>,
    cells: OutputCells,
) -> Result<(), ParquetError> {
    match cells {
        OutputCells::Text(texts) => {
            let texts: Vec<ByteArray> = texts.into_iter().map(ByteArray::from).collect();
            write_column::<ByteArrayType>(group, &texts)
        }
        OutputCells::Digits(texts) => {
            let number = |text: &Vec<u8>| std::str::from_utf8(text).ok()?.parse().ok();
            let numbers: Option<Vec<i64>> = texts.iter().map(number).collect();
            let missing = || ParquetError::General("an id is not a number".to_owned());
            write_column::<Int64Type>(group, &numbers.ok_or_else(missing)?)
        }
        OutputCells::Int32(numbers) => write_column::<Int32Type>(group, &numbers),
        OutputCells::Int64(numbers) => write_column::<Int64Type>(group, &numbers),
        OutputCells::Float32(numbers) => write_column::<FloatType>(group, &numbers),
    }
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, ResultFile>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let column = group.next_column()?;
    let missing = || ParquetError::General("a column is missing".to_owned());
    let mut column = column.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
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
