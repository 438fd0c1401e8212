//! Parquet files, and the lengths of the lists in their columns.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::parquet_pages::check_pages;
use crate::formats::dgl::file::InputFile;
use crate::io::open_input;
use crate::platform::signals;
use crate::words::error::{Error, Result};

/// Number of values whose lists are measured at a time.
const VALUES: usize = 1 << 16;

/// Runs `read` on a file, and turns panics into errors: the Parquet library panics on some damaged files. Everything it
/// was working on is dropped with the error, and temporary files have no names.
pub(super) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        Err(Error::input(path, "", format!("is a damaged Parquet file: {text}")))
    })
}

/// An open file.
pub(super) struct ParquetFile {
    pub(super) path: PathBuf,
    pub(super) reader: SerializedFileReader<File>,
    /// Size in bytes.
    pub(super) bytes: u64,
}

impl ParquetFile {
    /// Opens a file, and checks the sizes that its pages claim.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
        let reader = SerializedFileReader::new(file).map_err(|e| unreadable(path, &e))?;
        let input = InputFile::open(path)?;
        check_pages(&input, reader.metadata())?;
        Ok(ParquetFile { path: path.to_owned(), reader, bytes: input.len() })
    }

    pub(super) fn metadata(&self) -> &FileMetaData {
        self.reader.metadata().file_metadata()
    }

    pub(super) fn schema(&self) -> &SchemaDescriptor {
        self.metadata().schema_descr()
    }

    pub(super) fn num_rows(&self) -> u64 {
        self.metadata().num_rows().max(0) as u64
    }

    /// An error about a damaged part of the file.
    pub(super) fn unreadable(&self, error: &ParquetError) -> Error {
        unreadable(&self.path, error)
    }

    /// Whether all lists of a column have this length. An empty list takes a place, too.
    pub(super) fn are_of_length(&self, at: usize, length: usize) -> Result<bool> {
        let length = length.max(1);
        let of_group = |group: &RowGroupMetaData| (group.column(at).num_values(), group.num_rows());
        let mut groups = self.reader.metadata().row_groups().iter().map(of_group);
        if groups.any(|(values, rows)| i128::from(values) != i128::from(rows) * length as i128) {
            return Ok(false);
        }
        let mut are_same = true;
        self.each_list(at, (VALUES / length).max(1), |places, _| {
            are_same = places == length;
            // After a signal, reading the first row fails.
            are_same && !signals::received()
        })?;
        Ok(are_same)
    }

    /// Length of the first list of a column that is not missing.
    pub(super) fn first_length(&self, at: usize) -> Result<usize> {
        let full = self.schema().column(at).max_def_level();
        let mut length = 0;
        self.each_list(at, 1, |places, level| {
            let is_there = places > 1 || level.is_none_or(|level| level == full);
            length = if is_there { places } else { 0 };
            !is_there
        })?;
        Ok(length)
    }

    /// Calls `take` with the number of places of each list of a column, and with the level of the first, while it returns
    /// true. Reads `most` rows at a time.
    fn each_list(
        &self,
        at: usize,
        most: usize,
        mut take: impl FnMut(usize, Option<i16>) -> bool,
    ) -> Result<()> {
        let broken = |e: ParquetError| self.unreadable(&e);
        for group in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(group).map_err(broken)?;
            let mut reader = group.get_column_reader(at).map_err(broken)?;
            loop {
                let (mut levels, mut repeats) = (Vec::new(), Vec::new());
                /// Reads the next rows of any type.
                macro_rules! next {
                    ($($variant:ident),*) => {
                        match &mut reader {
                            $(ColumnReader::$variant(reader) => reader.read_records(
                                most, Some(&mut levels), Some(&mut repeats), &mut Vec::new(),
                            ),)*
                        }
                    };
                }
                let read = next!(
                    BoolColumnReader,
                    Int32ColumnReader,
                    Int64ColumnReader,
                    Int96ColumnReader,
                    FloatColumnReader,
                    DoubleColumnReader,
                    ByteArrayColumnReader,
                    FixedLenByteArrayColumnReader
                );
                let (rows, ..) = read.map_err(broken)?;
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
}

fn unreadable(path: &Path, error: &ParquetError) -> Error {
    Error::input(path, "", format!("is not a readable Parquet file: {error}"))
}
