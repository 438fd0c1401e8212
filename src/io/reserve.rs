//! Disk space reserved for future files.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::retry_on_intr;

use super::accounted_storage::{AccountedStorage, SpaceAccount};
use super::aligned_buffer::PAGE;
use super::private_file::new_private_file;
use super::storage::Storage;
use crate::platform::free_space::free_space;
use crate::words::error::{Error, Result};

/// Largest number of bytes that a process has claimed and not yet written, or removed and not yet returned. Saves a
/// system call for small files.
const PIECE: u64 = 16 << 20;
/// For a small reserve, the largest such number of all processes together, as a fraction of the reserve.
const PIECES: u64 = 16;

/// A file that occupies disk space until other files need it. All processes of a run share it, because the disk needs
/// room for the sum of their files.
///
/// The file begins with its first size and the number of bytes claimed so far (`u64` each, native byte order), and is
/// as long as the remainder. So this file, and the files that took its place, never occupy more than its first size
/// plus a page.
pub struct Reserve {
    file: File,
    piece: u64,
    /// Bytes claimed for this process and not yet in any file.
    credit: Mutex<u64>,
}

impl Reserve {
    /// Creates a reserve of `bytes` bytes on the disk of `path`.
    ///
    /// # Errors
    /// [`StorageFull`](io::ErrorKind::StorageFull) or [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) if the disk has less free
    /// space, [`Unsupported`](io::ErrorKind::Unsupported) if the file system cannot reserve. No file is left then.
    pub fn create(path: &Path, bytes: u64) -> io::Result<()> {
        // Some file systems take all free space before they find it too little.
        if free_space(path).is_some_and(|free| bytes > free) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let size = bytes.next_multiple_of(PAGE);
        let file = new_private_file().open(path)?;
        let taken = allocate(&file, 0, size.max(PAGE));
        let taken = taken.and_then(|()| file.write_all_at(bytemuck::bytes_of(&[size, 0]), 0));
        if taken.is_err() {
            fs::remove_file(path)?;
        }
        taken
    }

    /// Opens an existing reserve for one of `processes` processes.
    ///
    /// # Errors
    /// If the file cannot be opened or read.
    pub fn open(path: &Path, processes: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let [size, _] = header(&file)?;
        let piece = (size / (PIECES * processes as u64)).min(PIECE).next_multiple_of(PAGE);
        Ok(Reserve { file, piece: piece.max(PAGE), credit: Mutex::default() })
    }

    /// Changes the number of claimed bytes, and the file's length with it, under a lock.
    fn change(&self, change: impl FnOnce(u64) -> u64) -> io::Result<()> {
        self.file.lock()?;
        let changed = self.change_locked(change);
        self.file.unlock()?;
        changed
    }

    fn change_locked(&self, change: impl FnOnce(u64) -> u64) -> io::Result<()> {
        let [size, given] = header(&self.file)?;
        let given = change(given);
        // More may have been claimed than the reserve had: files must be removed before it has room again.
        let (left, len) = (size.saturating_sub(given).max(PAGE), self.file.metadata()?.len());
        if left < len {
            self.file.set_len(left)?;
        }
        self.file.write_all_at(bytemuck::bytes_of(&[size, given]), 0)?;
        if left > len {
            match allocate(&self.file, len, left - len) {
                Err(e) if is_full(&e) => self.file.set_len(len)?,
                taken => taken?,
            }
        }
        Ok(())
    }
}

impl SpaceAccount for Reserve {
    /// Makes room for the bytes. Bytes beyond the reserve's remainder must be free on the disk.
    fn take(&self, bytes: u64) -> io::Result<()> {
        let mut credit = self.credit.lock();
        if let Some(missing) = bytes.checked_sub(*credit).filter(|missing| *missing > 0) {
            let more = missing.next_multiple_of(self.piece);
            self.change(|given| given + more)?;
            *credit += more;
        }
        *credit -= bytes;
        Ok(())
    }

    /// Returns the bytes' room to the reserve. If others took the space first, the reserve gets less.
    fn give_back(&self, bytes: u64) -> io::Result<()> {
        let mut credit = self.credit.lock();
        *credit += bytes;
        if *credit >= 2 * self.piece {
            // The remainder lets the next file begin without a call.
            let back = *credit - self.piece - *credit % self.piece;
            self.change(|given| given.saturating_sub(back))?;
            *credit -= back;
        }
        Ok(())
    }
}

impl AccountedStorage {
    /// `inner` with an account in the reserve at `path`, which `processes` share; `inner` alone without a path.
    ///
    /// # Errors
    /// If the reserve cannot be opened (`Io`).
    pub fn in_reserve(
        inner: Arc<dyn Storage>,
        path: Option<&Path>,
        processes: usize,
    ) -> Result<Arc<dyn Storage>> {
        let Some(path) = path else { return Ok(inner) };
        let reserve = Reserve::open(path, processes).map_err(|e| Error::io("open", path, e))?;
        Ok(Arc::new(AccountedStorage::new(inner, reserve)))
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn header(file: &File) -> io::Result<[u64; 2]> {
    let mut header = [0; 2];
    file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0)?;
    Ok(header)
}

/// Allocates disk space for part of a file.
fn allocate(file: &File, from: u64, len: u64) -> io::Result<()> {
    Ok(retry_on_intr(|| fallocate(file, FallocateFlags::empty(), from, len))?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    use super::*;

    const SIZE: u64 = 8 << 20;

    /// A reserve, and a function that returns the disk space it takes; `None` where the file system cannot reserve.
    fn reserve(folder: &Path) -> Option<(PathBuf, impl Fn() -> u64)> {
        let path = folder.join("reserve");
        match Reserve::create(&path, SIZE) {
            Err(e) if e.kind() == io::ErrorKind::Unsupported => {
                eprintln!("SKIPPED: the file system of {} cannot reserve", path.display());
                return None;
            }
            created => created.unwrap(),
        }
        let file = path.clone();
        Some((path, move || fs::metadata(&file).unwrap().blocks() * 512))
    }

    #[test]
    fn it_takes_real_blocks_and_gives_them() {
        let folder = tempfile::tempdir().unwrap();
        let Some((path, taken)) = reserve(folder.path()) else { return };
        assert!((SIZE..SIZE + SIZE / 64).contains(&taken()), "{}", taken());
        let reserve = Reserve::open(&path, 1).unwrap();
        let piece = SIZE / PIECES;
        reserve.take(1).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE - piece);
        assert!(taken() <= SIZE - piece + PAGE, "{}", taken());
        // The remainder of a piece costs nothing.
        reserve.take(piece - 1).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE - piece);
        reserve.take(3 * piece + 1).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE - 5 * piece);
        reserve.give_back(4 * piece + 1).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE - piece);
        assert!(taken() >= SIZE - piece, "{}", taken());
    }

    #[test]
    fn files_and_reserve_of_all_processes_never_take_more_than_at_first() {
        let folder = tempfile::tempdir().unwrap();
        let Some((path, _)) = reserve(folder.path()) else { return };
        let ranks = [0, 1].map(|_| Reserve::open(&path, 2).unwrap());
        let unused = 2 * ranks.len() as u64 * ranks[0].piece;
        let mut files = 0;
        let check = |files: u64| {
            let left = fs::metadata(&path).unwrap().len();
            assert!(files + left <= SIZE.max(files) + PAGE, "{left} beside {files}");
            // And hardly less.
            assert!(files + left + unused >= SIZE, "{left} beside {files}");
        };
        // One rank writes much more than its part, and more than the reserve; the other removes it.
        for _ in 0..14 {
            ranks[0].take(700_001).unwrap();
            files += 700_001;
            check(files);
        }
        assert!(files > SIZE);
        for _ in 0..14 {
            ranks[1].give_back(700_001).unwrap();
            files -= 700_001;
            check(files);
        }
        // Space that never came out of the reserve does not make it larger.
        ranks[1].give_back(SIZE).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE);
    }

    #[test]
    fn more_than_is_free_is_refused_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let much = free_space(folder.path()).unwrap() * 2;
        let error = Reserve::create(&path, much).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(!path.exists());
    }
}
