//! Spill files of one rank: written once, verified when they are read, removed with their handle.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::value_file::{Extent, ReadValue, ValueFile};
use crate::io::{IoCounters, MemoryStorage, Storage, StorageFile, read_split};
use crate::words::error::{Error, Result};

/// Number of bytes that are copied at a time.
const COPIED: usize = 1 << 20;

/// A rank's folder of spill files.
pub struct SpillStore {
    folder: PathBuf,
    storage: Arc<dyn Storage>,
    counters: IoCounters,
    next: Cell<u64>,
    clock: Cell<u64>,
    /// Bytes of the page cache that messages, which use the same storage, may take.
    for_messages: Cell<u64>,
    /// Whether files are padded to their size without packing.
    pads: bool,
}

impl SpillStore {
    /// Creates a store in `folder`, which must exist.
    pub fn new(folder: &Path, storage: Arc<dyn Storage>, counters: IoCounters) -> Rc<Self> {
        Self::padding(folder, storage, counters, false)
    }

    /// A store with files padded to their size without packing, if `pads`: a stand-in's values have more zeros than the
    /// run's values may have.
    pub fn padding(
        folder: &Path,
        storage: Arc<dyn Storage>,
        counters: IoCounters,
        pads: bool,
    ) -> Rc<Self> {
        let (next, clock, for_messages) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let folder = folder.to_owned();
        Rc::new(SpillStore { folder, storage, counters, next, clock, for_messages, pads })
    }

    /// The next number of a counter that orders uses in time.
    pub(super) fn tick(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    /// Starts a file; `label` becomes part of its name, which makes listings of the folder readable.
    pub(super) fn writer(&self, label: &str) -> Result<SpillWriter> {
        let number = self.next.replace(self.next.get() + 1);
        let path = self.folder.join(format!("{label}-{number}.spill"));
        let file = self.storage.create(&path).map_err(|e| Error::io("create", &path, e))?;
        let out = ValueFile::new(file, path.clone(), self.counters.clone(), self.pads);
        let guard = Removal { path, storage: self.storage.clone() };
        // Values that fit stay in memory rather than in the page cache.
        self.storage.set_cache_share(0);
        Ok(SpillWriter { out, guard, for_messages: self.for_messages.get() })
    }

    /// Removes everything in the folder.
    pub(super) fn remove_files(&self) -> Result<()> {
        self.remove_folder()?;
        std::fs::create_dir(&self.folder).map_err(|e| Error::io("create", &self.folder, e))
    }

    /// Removes the folder with everything in it.
    pub(super) fn remove_folder(&self) -> Result<()> {
        std::fs::remove_dir_all(&self.folder).map_err(|e| Error::io("remove", &self.folder, e))
    }

    /// Lets messages take up to `bytes` bytes of the page cache.
    pub(super) fn share_cache(&self, bytes: u64) {
        self.for_messages.set(bytes);
        self.storage.set_cache_share(bytes);
    }

    /// Bytes of the page cache that messages may take.
    pub(super) fn cache_share(&self) -> u64 {
        self.for_messages.get()
    }

    /// Bytes of the page cache that messages take.
    pub(super) fn cached_bytes(&self) -> u64 {
        self.storage.cached_bytes()
    }

    /// Counters of the bytes that this rank has written and read.
    pub fn counters(&self) -> &IoCounters {
        &self.counters
    }
}

/// A file that is being written, with one or more values. If it is dropped before it is finished, the file is removed.
pub struct SpillWriter {
    out: ValueFile,
    guard: Removal,
    for_messages: u64,
}

impl SpillWriter {
    /// Starts a packed value's file of `len` bytes in memory; `None` if memory runs out.
    pub(super) fn in_memory(label: &str, len: u64) -> Option<Self> {
        let path = PathBuf::from(format!("{label}, packed in memory"));
        let storage = MemoryStorage::default();
        let file = storage.create_with_room(&path, len)?;
        let out = ValueFile::new(file, path.clone(), IoCounters::default(), false);
        let guard = Removal { path, storage: Arc::new(storage) };
        Some(SpillWriter { out, guard, for_messages: 0 })
    }

    /// Appends bytes to the value.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write(bytes)
    }

    /// Appends all elements of a value, of `size` bytes each; zeros take little space in the file.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn write_elements(&mut self, bytes: &[u8], size: usize) -> Result<()> {
        self.out.write_elements(bytes, size)
    }

    /// Ends the value; the next bytes belong to another one.
    pub(super) fn end_value(&mut self) -> Result<Extent> {
        self.out.end_value()
    }

    /// Copies a value from another file in its stored form.
    pub(super) fn copy(&mut self, file: &SpillFile, from: Extent) -> Result<Extent> {
        let offset = self.out.len;
        let mut piece = vec![0; COPIED.min(from.len as usize)];
        let mut at = 0;
        while at < from.len {
            let piece = &mut piece[..COPIED.min((from.len - at) as usize)];
            file.read(piece, from.offset + at)?;
            self.out.append(piece)?;
            at += piece.len() as u64;
        }
        self.out.counters.saved_in_writing(from.saved());
        self.out.begin_value();
        Ok(Extent { offset, ..from })
    }

    /// Ends the file.
    pub(super) fn finish(self) -> Result<Rc<SpillFile>> {
        let SpillWriter { out: ValueFile { file, counters, .. }, guard, for_messages } = self;
        let cached = file.cached();
        let file = file.finish().map_err(|e| Error::io("write", &guard.path, e))?;
        guard.storage.set_cache_share(for_messages);
        Ok(Rc::new(SpillFile { file, guard, counters, cached }))
    }
}

/// A finished file, which is removed when this is dropped.
pub(super) struct SpillFile {
    file: Box<dyn StorageFile>,
    guard: Removal,
    counters: IoCounters,
    /// Number of bytes at the start that are in the page cache.
    cached: u64,
}

impl SpillFile {
    /// Reads a value sequentially.
    pub(super) fn reader(&self, extent: Extent) -> Result<SpillReader<'_>> {
        let fill = |bytes: &mut [u8], at| self.read(bytes, at);
        Ok(SpillReader { file: self, value: ReadValue::new(extent, &self.guard.path, fill)? })
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        let SpillFile { file, guard, counters, cached } = self;
        read_split(&**file, *cached, bytes, offset)
            .map_err(|e| Error::io("read", &guard.path, e))?;
        counters.read(bytes.len() as u64);
        Ok(())
    }
}

/// Sequential reader of a value in a spill file.
pub struct SpillReader<'a> {
    file: &'a SpillFile,
    value: ReadValue,
}

impl SpillReader<'_> {
    /// Fills `bytes` with the next bytes of the value.
    ///
    /// # Errors
    /// If the file cannot be read or ends early (`Io`), or its content differs from what was written (`Corrupt`).
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let SpillReader { file, value } = self;
        value.read(bytes, &file.guard.path, |bytes, at| file.read(bytes, at))
    }

    /// Ends reading; fails unless all bytes have been read and match the checksum.
    pub(super) fn finish(self) -> Result<()> {
        let SpillReader { file, value } = self;
        let (path, len) = (&file.guard.path, value.extent.value_len());
        if value.read != len {
            let problem = format!("{} of {len} bytes were read", value.read);
            return Err(Error::corrupt(path, problem));
        }
        if !value.is_intact() {
            return Err(Error::corrupt(path, "the checksum does not match the written data"));
        }
        file.counters.saved_in_reading(value.extent.saved());
        Ok(())
    }
}

/// Removes a file when it is dropped.
struct Removal {
    /// Path of the file, or a name for messages if it is in memory.
    path: PathBuf,
    storage: Arc<dyn Storage>,
}

impl Drop for Removal {
    fn drop(&mut self) {
        // A destructor cannot report an error; the file is removed with the run's folder.
        let _ = self.storage.remove(&self.path);
    }
}
