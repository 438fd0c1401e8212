//! Files in memory.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::storage::{FileWriter, Storage, StorageFile};

/// Finished files by path.
type Files = Mutex<HashMap<PathBuf, Arc<Vec<u8>>>>;

/// The [`Storage`] of files in this process's memory, which clones share.
#[derive(Clone, Default)]
pub(crate) struct MemoryStorage(Arc<Files>);

impl MemoryStorage {
    /// Creates a file with room for `len` bytes; `None` if memory runs out.
    pub(crate) fn create_with_room(&self, path: &Path, len: u64) -> Option<Box<dyn FileWriter>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(usize::try_from(len).ok()?).ok()?;
        let (storage, path) = (self.clone(), path.to_owned());
        Some(Box::new(MemoryWriter { storage, path, bytes }))
    }
}

impl Storage for MemoryStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        if self.0.lock().contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.create_with_room(path, 0).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let bytes = self.0.lock().get(path).cloned();
        Ok(Box::new(MemoryFile(bytes.ok_or(io::ErrorKind::NotFound)?)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let bytes = self.0.lock().remove(path);
        bytes.map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

struct MemoryWriter {
    storage: MemoryStorage,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl FileWriter for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn cached(&self) -> u64 {
        u64::MAX
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn StorageFile>> {
        let MemoryWriter { storage, path, bytes } = *self;
        let bytes = Arc::new(bytes);
        storage.0.lock().insert(path, bytes.clone());
        Ok(Box::new(MemoryFile(bytes)))
    }
}

struct MemoryFile(Arc<Vec<u8>>);

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
