//! A disk that is full at one call.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sar::io::{DiskStorage, FileWriter, Storage, StorageFile};

/// A storage of real files. One of the calls that create, write and end files meets a full disk; all later calls work.
#[derive(Clone)]
pub(crate) struct FullDisk {
    disk: DiskStorage,
    /// Number of calls before the one that fails.
    remaining: Arc<AtomicU64>,
}

impl FullDisk {
    /// A storage whose `nth` call fails, from 0.
    pub(crate) fn at_call(nth: u64, disk: DiskStorage) -> Self {
        FullDisk { disk, remaining: Arc::new(AtomicU64::new(nth)) }
    }

    fn call(&self) -> io::Result<()> {
        // After the fault the counter wraps to `u64::MAX`, which no test counts down.
        match self.remaining.fetch_sub(1, Ordering::SeqCst) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

impl Storage for FullDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.call()?;
        Ok(Box::new(Writer { storage: self.clone(), inner: self.disk.create(path)? }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.disk.open(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
}

struct Writer {
    storage: FullDisk,
    inner: Box<dyn FileWriter>,
}

impl FileWriter for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.call()?;
        self.inner.write(bytes)
    }

    fn cached(&self) -> u64 {
        self.inner.cached()
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn StorageFile>> {
        self.storage.call()?;
        self.inner.finish()
    }
}
