//! This process's files in the system's page cache.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::fs::{Advice, fadvise};

use super::aligned_buffer::PAGE;
use crate::platform::begin_write_back;

/// Number of bytes after which a file's changed pages go to the disk, because until then they take memory.
pub(super) const PIECE: u64 = 8 << 20;

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

/// The pages of a file that this process has changed since it last began to write them to the disk.
#[derive(Debug, Default)]
pub(crate) struct ChangedPages {
    bytes: AtomicU64,
    /// The page that the last write ended in.
    last: AtomicU64,
}

impl ChangedPages {
    /// Writes bytes into the file from an offset on. Its changed pages go to the disk piece by piece, while this process
    /// goes on; they stay in the page cache, from where the system can then drop them at any time.
    pub(crate) fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        for (piece, at) in bytes.chunks(PIECE as usize).zip((offset..).step_by(PIECE as usize)) {
            file.write_all_at(piece, at)?;
            if self.fill_piece(at, piece.len() as u64) {
                begin_write_back(file)?;
            }
        }
        Ok(())
    }

    /// Notes that some bytes have changed. Whether there are enough changed pages for a piece, and counting begins again.
    fn fill_piece(&self, offset: u64, len: u64) -> bool {
        let (first, last) = (offset / PAGE, (offset + len - 1) / PAGE);
        let known = self.last.swap(last, Ordering::Relaxed) == first;
        let more = (last - first + u64::from(!known)) * PAGE;
        let is_full = self.bytes.fetch_add(more, Ordering::Relaxed) + more >= PIECE;
        if is_full {
            self.bytes.store(0, Ordering::Relaxed);
        }
        is_full
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_once_whatever_part_of_it_changes() {
        let pieces = |rows: &mut dyn Iterator<Item = u64>| {
            let changed = ChangedPages::default();
            rows.filter(|row| changed.fill_piece(row * 64, 64)).count() as u64
        };
        let per_piece = PIECE / 64;
        assert_eq!(pieces(&mut (0..3 * per_piece + 64)), 3);
        // Rows that lie far from each other change a page each.
        assert_eq!(pieces(&mut (1..=3 * PIECE / PAGE).map(|row| row * 1000)), 3);
        assert_eq!(pieces(&mut (0..2 * per_piece).map(|_| 7)), 0);
    }

    #[test]
    fn bytes_lie_where_they_were_written() {
        let file = tempfile::tempfile().unwrap();
        let changed = ChangedPages::default();
        let bytes: Vec<u8> = (0..2 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        changed.write_all_at(&file, &bytes, 3).unwrap();
        let mut found = vec![0; bytes.len()];
        file.read_exact_at(&mut found, 3).unwrap();
        assert!(found == bytes);
    }
}
