//! Numbers from text, on their way to a table.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::file::InputFile;
use crate::io::Dtype;

/// Number of bytes converted at a time.
const BUFFER: usize = 256 << 10;

/// Rows of numbers in an unnamed file, until their type is known: `int64` if all are whole, `float32` otherwise.
pub(super) struct NumberTable {
    path: PathBuf,
    folder: PathBuf,
    columns: u64,
    values: u64,
    whole: bool,
    file: BufWriter<File>,
}

impl NumberTable {
    /// A table of what will be read from `path`; the numbers take space in `folder`.
    pub(super) fn create(path: &Path, folder: &Path, columns: u64) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
        Ok(NumberTable {
            path: path.to_owned(),
            folder: folder.to_owned(),
            columns,
            values: 0,
            whole: true,
            file: BufWriter::with_capacity(BUFFER, file),
        })
    }

    /// Appends the next value of the row. Returns false if it is not a number.
    pub(super) fn push(&mut self, field: &[u8]) -> Result<bool> {
        let Some((value, whole)) = parse(field) else { return Ok(false) };
        self.whole &= whole;
        self.values += 1;
        let written = self.file.write_all(&value.to_le_bytes());
        written.map_err(|e| self.failed("write", e))?;
        Ok(true)
    }

    /// The table, `[rows, columns]`, or `[rows]` if there is one column.
    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        self.file.flush().map_err(|e| Error::io("write a temporary file in", &self.folder, e))?;
        let dtype = if self.whole { Dtype::I64 } else { Dtype::F32 };
        let target = tempfile::tempfile_in(&self.folder);
        let target = target.map_err(|e| Error::io("create", &self.folder, e))?;
        let mut out = BufWriter::with_capacity(BUFFER, target);
        let mut source = self.file.get_ref();
        source.rewind().map_err(|e| self.failed("read", e))?;
        let mut buffer = vec![0; BUFFER];
        let mut left = self.values * 8;
        while left > 0 {
            let bytes = &mut buffer[..left.min(BUFFER as u64) as usize];
            source.read_exact(bytes).map_err(|e| self.failed("read", e))?;
            for &value in bytes.as_chunks::<8>().0 {
                let value = f64::from_le_bytes(value);
                let written = match dtype {
                    Dtype::I64 => out.write_all(&(value as i64).to_le_bytes()),
                    _ => out.write_all(&(value as f32).to_le_bytes()),
                };
                written.map_err(|e| self.failed("write", e))?;
            }
            left -= bytes.len() as u64;
        }
        let target = out.into_inner().map_err(|e| self.failed("write", e.into_error()))?;
        let mut shape = vec![self.values / self.columns.max(1)];
        if self.columns != 1 {
            shape.push(self.columns);
        }
        let file = InputFile::from_open(&self.path, target)?;
        ArrayRef::new(&file, "", dtype, shape, 0)
            .ok_or_else(|| Error::internal("a table is shorter than what was written".to_owned()))
    }

    fn failed(&self, action: &str, error: std::io::Error) -> Error {
        let action = match action {
            "read" => "read a temporary file in",
            _ => "write a temporary file in",
        };
        Error::io(action, &self.folder, error)
    }
}

/// Parses a number, and whether it is whole. Whole numbers that a double cannot hold are refused.
fn parse(field: &[u8]) -> Option<(f64, bool)> {
    let text = std::str::from_utf8(field).ok()?;
    if let Ok(value) = text.parse::<i64>() {
        return (value.unsigned_abs() <= 1 << 53).then_some((value as f64, true));
    }
    match text {
        "true" | "True" | "TRUE" => Some((1.0, true)),
        "false" | "False" | "FALSE" => Some((0.0, true)),
        _ => text.parse::<f64>().ok().map(|value| (value, false)),
    }
}
