//! A file in memory, for packed values.

use std::io;

use crate::io::{FileWriter, StorageFile};

/// Bytes in memory with the interface of a file.
pub(super) struct MemoryFile(Vec<u8>);

impl MemoryFile {
    /// An empty file with room for `len` bytes; `None` if memory runs out.
    pub(super) fn with_room(len: u64) -> Option<Self> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(usize::try_from(len).ok()?).ok()?;
        Some(MemoryFile(bytes))
    }
}

impl FileWriter for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn cached(&self) -> u64 {
        0
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn StorageFile>> {
        Ok(self)
    }
}

impl StorageFile for MemoryFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let at = offset as usize;
        let from = self.0.get(at..at + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(from);
        Ok(())
    }

    fn read_around(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }

    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}
