//! Output files that get their names when they are complete.

use super::array_writer::ArrayWriter;
use crate::formats::dgl::array;
use crate::formats::dgl::arrays::ndarray;
use crate::io::Dtype;
use crate::words::error::{Error, Result};
use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// A file of consecutive headers, with room for elements of arrays.
#[derive(Debug)]
pub(super) struct OutputFile {
    path: PathBuf,
    temporary: NamedTempFile,
    file: Arc<File>,
    /// Headers that have not been written, and their offset.
    pending: Vec<u8>,
    pending_at: u64,
    /// Whether the content must survive a crash of the machine.
    durable: bool,
}

impl OutputFile {
    /// Starts a file under a temporary name in the folder of `path`, which is created.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
        // The umask applies, as to any other new file.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".writing-").permissions(Permissions::from_mode(0o666));
        let temporary = builder.tempfile_in(folder).map_err(|e| Error::io("create", path, e))?;
        let file = temporary.as_file().try_clone().map_err(|e| Error::io("create", path, e))?;
        Ok(OutputFile {
            path: path.to_owned(),
            temporary,
            file: Arc::new(file),
            pending: Vec::new(),
            pending_at: 0,
            durable: true,
        })
    }

    /// The same file; `finish` waits for the disk only if it is `durable`.
    pub(super) fn durable(self, durable: bool) -> Self {
        OutputFile { durable, ..self }
    }

    /// Offset of the next header.
    pub(super) fn pos(&self) -> u64 {
        self.pending_at + self.pending.len() as u64
    }

    /// Appends bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Appends numbers.
    pub(super) fn put_u64s(&mut self, values: &[u64]) {
        for value in values {
            self.put(&value.to_le_bytes());
        }
    }

    /// Appends a length and a text.
    pub(super) fn put_text(&mut self, text: &str) {
        self.put_u64s(&[text.len() as u64]);
        self.put(text.as_bytes());
    }

    /// Leaves a gap, which reads as zeros, up to this offset.
    pub(super) fn skip_to(&mut self, offset: u64) -> Result<()> {
        self.flush()?;
        self.pending_at = offset;
        Ok(())
    }

    /// Appends the header of an array and leaves room for its elements.
    pub(super) fn array(&mut self, name: &str, dtype: Dtype, shape: &[u64]) -> Result<ArrayWriter> {
        let bytes = array::byte_len(dtype, shape).filter(|&bytes| i64::try_from(bytes).is_ok());
        let Some(bytes) = bytes else {
            return Err(Error::internal(format!("{name}: an array of {shape:?} is too large")));
        };
        self.put(&ndarray::header(dtype, shape, bytes));
        let offset = self.pos();
        self.skip_to(offset + bytes)?;
        Ok(ArrayWriter::new(&self.file, &self.path, name, dtype, offset..offset + bytes))
    }

    /// Writes the pending headers and gives the file its name.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        // The last array may have no elements.
        let end = self.pos();
        self.file.set_len(end).map_err(|e| Error::io("write", &self.path, e))?;
        if self.durable {
            self.file.sync_all().map_err(|e| Error::io("write", &self.path, e))?;
        }
        let renamed = self.temporary.persist(&self.path);
        renamed.map_err(|e| Error::io("rename to", &self.path, e.error))?;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.file.write_all_at(&self.pending, self.pending_at);
        written.map_err(|e| Error::io("write", &self.path, e))?;
        self.pending_at = self.pos();
        self.pending.clear();
        Ok(())
    }
}
