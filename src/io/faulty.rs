//! A storage that fails on purpose, for tests: the n-th call meets a full disk, an I/O error or a flipped bit.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk_storage::DiskStorage;
use super::storage::{FileWriter, Storage, StorageFile};

/// Fault of the chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `ENOSPC`, as a full disk reports it for a write.
    DiskFull,
    /// `EIO`, as a failing disk reports it for a read or a write.
    InputOutput,
    /// A read that succeeds with one bit wrong.
    FlippedBit,
}

/// A storage of real files with one fault at the n-th call that can meet it.
#[derive(Clone)]
pub struct FaultyStorage {
    fault: Fault,
    remaining: Arc<AtomicU64>,
    disk: DiskStorage,
}

impl FaultyStorage {
    /// A storage whose `nth` call (from 0) among those that can meet `fault` meets it; all later calls work.
    pub fn new(disk: DiskStorage, fault: Fault, nth: u64) -> Self {
        FaultyStorage { fault, remaining: Arc::new(AtomicU64::new(nth)), disk }
    }

    fn strikes(&self, can_meet: bool) -> bool {
        // After the fault the counter wraps to `u64::MAX`, which no test counts down.
        can_meet && self.remaining.fetch_sub(1, Ordering::SeqCst) == 0
    }

    fn write_fault(&self) -> io::Result<()> {
        let kind = match self.fault {
            Fault::DiskFull => io::ErrorKind::StorageFull,
            Fault::InputOutput => io::ErrorKind::Other,
            Fault::FlippedBit => return Ok(()),
        };
        if self.strikes(true) { Err(kind.into()) } else { Ok(()) }
    }
}

impl Storage for FaultyStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.write_fault()?;
        Ok(Box::new(FaultyWriter { storage: self.clone(), inner: self.disk.create(path)? }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(FaultyFile { storage: self.clone(), inner: self.disk.open(path)? }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
}

struct FaultyWriter {
    storage: FaultyStorage,
    inner: Box<dyn FileWriter>,
}

impl FileWriter for FaultyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.write_fault()?;
        self.inner.write(bytes)
    }

    fn cached(&self) -> u64 {
        self.inner.cached()
    }

    fn shared(&self) -> u64 {
        self.inner.shared()
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn StorageFile>> {
        let FaultyWriter { storage, inner } = *self;
        storage.write_fault()?;
        Ok(Box::new(FaultyFile { storage, inner: inner.finish()? }))
    }
}

struct FaultyFile {
    storage: FaultyStorage,
    inner: Box<dyn StorageFile>,
}

impl FaultyFile {
    fn read(
        &self,
        bytes: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.storage.strikes(self.storage.fault == Fault::InputOutput) {
            return Err(io::ErrorKind::Other.into());
        }
        read(bytes)?;
        if let Some(middle) = bytes.len().checked_div(2)
            && !bytes.is_empty()
            && self.storage.strikes(self.storage.fault == Fault::FlippedBit)
        {
            bytes[middle] ^= 1;
        }
        Ok(())
    }
}

impl StorageFile for FaultyFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(bytes, |bytes| self.inner.read_exact_at(bytes, offset))
    }

    fn read_around(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(bytes, |bytes| self.inner.read_around(bytes, offset))
    }

    fn byte_len(&self) -> io::Result<u64> {
        self.inner.byte_len()
    }
}
