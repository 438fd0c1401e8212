//! This process's files in the system's page cache.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{Advice, fadvise};

/// The page cache that a process's files may take, and the part that they take.
#[derive(Debug, Default)]
pub(super) struct CacheShare {
    /// Bytes that are always allowed.
    least: u64,
    shares: Mutex<Shares>,
}

#[derive(Debug, Default)]
struct Shares {
    allowed: u64,
    taken: u64,
    by_file: HashMap<PathBuf, u64>,
}

impl CacheShare {
    /// A share of at least this number of bytes.
    pub(super) fn at_least(least: u64) -> Self {
        let share = CacheShare { least, ..CacheShare::default() };
        share.allow(0);
        share
    }

    pub(super) fn allow(&self, bytes: u64) {
        self.shares.lock().allowed = bytes.max(self.least);
    }

    pub(super) fn taken(&self) -> u64 {
        self.shares.lock().taken
    }

    /// Claims room for `bytes` more of a file; returns false if there is not enough.
    pub(super) fn take(&self, path: &Path, bytes: u64) -> bool {
        let shares = &mut *self.shares.lock();
        let fits = shares.taken + bytes <= shares.allowed;
        if fits {
            shares.taken += bytes;
            *shares.by_file.entry(path.to_owned()).or_default() += bytes;
        }
        fits
    }

    /// Releases the room of a removed file.
    pub(super) fn forget(&self, path: &Path) {
        let shares = &mut *self.shares.lock();
        shares.taken -= shares.by_file.remove(path).unwrap_or(0);
    }
}

/// Drops pages from the page cache; they must be on disk.
pub(crate) fn drop_pages(file: &File, offset: u64, len: u64) -> io::Result<()> {
    // A length of 0 would mean the rest of the file.
    match NonZeroU64::new(len) {
        Some(len) => Ok(fadvise(file, offset, Some(len), Advice::DontNeed)?),
        None => Ok(()),
    }
}
