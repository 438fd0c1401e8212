//! Files of values: writing one, and reading a value.

use std::path::{Path, PathBuf};

use crate::engine::packed::{Packed, PackedEnd, Packer, Unpacker, pad};
use crate::io::{FileWriter, IoCounters};
use crate::words::error::{Error, Result};

/// A file to which values are appended, packed if that saves space.
pub(in crate::engine) struct ValueFile {
    pub(in crate::engine) file: Box<dyn FileWriter>,
    /// Path, or a name for messages.
    pub(in crate::engine) path: PathBuf,
    pub(in crate::engine) counters: IoCounters,
    /// Whether values are padded to their size without packing.
    pub(in crate::engine) pads: bool,
    /// Length in bytes.
    pub(in crate::engine) len: u64,
    value: Value,
}

/// The value that is being written.
#[derive(Default)]
struct Value {
    offset: u64,
    /// Size before packing, in bytes.
    len: u64,
    checksum: crc32fast::Hasher,
    packer: Option<Packer>,
}

/// Location of a value in its file, and the checksum of its stored bytes (without the table of packed values, which has
/// its own).
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Extent {
    pub(in crate::engine) offset: u64,
    /// Size of the stored bytes.
    pub(in crate::engine) len: u64,
    pub(in crate::engine) checksum: u32,
    pub(in crate::engine) packed: Option<Packed>,
}

impl Extent {
    /// Size of the value in bytes.
    pub(in crate::engine) fn value_len(&self) -> u64 {
        self.packed.map_or(self.len, |packed| packed.len)
    }

    /// Number of bytes that packing saves.
    pub(in crate::engine) fn saved(&self) -> u64 {
        self.value_len().saturating_sub(self.len)
    }
}

impl ValueFile {
    pub(in crate::engine) fn new(
        file: Box<dyn FileWriter>,
        path: PathBuf,
        counters: IoCounters,
        pads: bool,
    ) -> Self {
        ValueFile { file, path, counters, pads, len: 0, value: Value::default() }
    }

    /// Appends bytes to the value.
    pub(in crate::engine) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.value.len += bytes.len() as u64;
        match self.value.packer.take() {
            None => self.store(bytes),
            Some(mut packer) => {
                packer.write(bytes, |block| self.store(block))?;
                self.value.packer = Some(packer);
                Ok(())
            }
        }
    }

    /// Appends elements of `size` bytes each to the value, which is packed if its first elements are worth it.
    pub(in crate::engine) fn write_elements(&mut self, bytes: &[u8], size: usize) -> Result<()> {
        if self.value.len == 0 {
            self.value.packer = Packer::that_saves(bytes, size);
        }
        self.write(bytes)
    }

    /// Appends bytes in stored form.
    fn store(&mut self, bytes: &[u8]) -> Result<()> {
        self.value.checksum.update(bytes);
        self.append(bytes)
    }

    /// Sets the start of the next value to the end of the file.
    pub(super) fn begin_value(&mut self) {
        self.value.offset = self.len;
    }

    /// Appends bytes without a checksum.
    pub(in crate::engine) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write(bytes).map_err(|e| Error::io("write", &self.path, e))?;
        self.len += bytes.len() as u64;
        self.counters.wrote(bytes.len() as u64);
        Ok(())
    }

    /// Ends the value; the next bytes belong to another one.
    pub(in crate::engine) fn end_value(&mut self) -> Result<Extent> {
        let mut packed = None;
        if let Some(packer) = self.value.packer.take() {
            let end: PackedEnd = packer.finish(|block| self.store(block))?;
            self.append(&end.table)?;
            packed = Some(end.packed);
        }
        let Value { offset, checksum, .. } = std::mem::take(&mut self.value);
        let len = self.len - offset;
        let extent = Extent { offset, len, checksum: checksum.finalize(), packed };
        self.counters.saved_in_writing(extent.saved());
        if self.pads {
            pad(extent.saved(), |zeros| self.file.write(zeros))
                .map_err(|e| Error::io("write", &self.path, e))?;
            self.len += extent.saved();
        }
        self.begin_value();
        Ok(extent)
    }
}

/// A value that is being read from front to back.
pub(in crate::engine) struct ReadValue {
    pub(in crate::engine) extent: Extent,
    /// Number of bytes of the value that have been read.
    pub(in crate::engine) read: u64,
    /// Number of stored bytes that have been read, without the table.
    at: u64,
    checksum: crc32fast::Hasher,
    unpacker: Option<Unpacker>,
}

impl ReadValue {
    /// A value in the file at `path`. `fill` fills bytes from an offset in that file.
    pub(in crate::engine) fn new(
        extent: Extent,
        path: &Path,
        fill: impl FnOnce(&mut [u8], u64) -> Result<()>,
    ) -> Result<Self> {
        let table = |bytes: &mut [u8], at| fill(bytes, extent.offset + at);
        let unpacker = extent.packed.map(|packed| Unpacker::new(packed, extent.len, path, table));
        let unpacker = unpacker.transpose()?;
        Ok(ReadValue { extent, read: 0, at: 0, checksum: crc32fast::Hasher::new(), unpacker })
    }

    /// Fills `bytes` with the next bytes of the value; `path` and `fill` are those of [`new`](Self::new).
    pub(in crate::engine) fn read(
        &mut self,
        bytes: &mut [u8],
        path: &Path,
        mut fill: impl FnMut(&mut [u8], u64) -> Result<()>,
    ) -> Result<()> {
        let ReadValue { extent, at, checksum, unpacker, .. } = self;
        let len = bytes.len() as u64;
        let mut stored = |bytes: &mut [u8]| -> Result<()> {
            fill(bytes, extent.offset + *at)?;
            checksum.update(bytes);
            *at += bytes.len() as u64;
            Ok(())
        };
        match unpacker {
            None => stored(bytes)?,
            Some(unpacker) => unpacker.read(bytes, path, stored)?,
        }
        self.read += len;
        Ok(())
    }

    /// Whether the bytes that have been read are those that were written.
    pub(in crate::engine) fn is_intact(&self) -> bool {
        self.checksum.clone().finalize() == self.extent.checksum
    }
}
