//! Disk space that is kept for files to come.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::retry_on_intr;

use super::aligned_buffer::PAGE;
use super::private_file::new_private_file;
use crate::platform::free_space::free_space;

/// What a process has given and not yet written, or removed and not yet taken back, is this at most, twice over: a small
/// file costs no system call.
const PIECE: u64 = 16 << 20;
/// Of a small reserve all processes together hold no more than a part like this so.
const PIECES: u64 = 16;

/// A file that takes space on a disk until other files need it. All processes of a run share it, as it is their sum that
/// the disk has to have room for.
///
/// It begins with its first size and the bytes given so far (`u64` each, native byte order), and is as long as what is left:
/// so it and the files it gave to never take more than its first size, but for a page.
pub struct Reserve {
    file: File,
    piece: u64,
    /// Given to this process, but not yet part of a file.
    credit: Mutex<u64>,
}

impl Reserve {
    /// Takes so many bytes of the disk.
    ///
    /// # Errors
    /// [`StorageFull`](io::ErrorKind::StorageFull) or [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) if there are not so
    /// many, [`Unsupported`](io::ErrorKind::Unsupported) if the file system cannot reserve. There is no file then.
    pub fn create(path: &Path, bytes: u64) -> io::Result<()> {
        // Some file systems take all there is before they find that it does not suffice.
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

    /// One that has been made, for a process that is one of so many.
    pub fn open(path: &Path, processes: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let [size, _] = header(&file)?;
        let piece = (size / (PIECES * processes as u64)).min(PIECE).next_multiple_of(PAGE);
        Ok(Reserve { file, piece: piece.max(PAGE), credit: Mutex::default() })
    }

    /// Makes room for bytes that are about to be written. What the reserve has no longer must be free otherwise.
    pub fn give(&self, bytes: u64) -> io::Result<()> {
        let mut credit = self.credit.lock();
        if let Some(missing) = bytes.checked_sub(*credit).filter(|missing| *missing > 0) {
            let more = missing.next_multiple_of(self.piece);
            self.change(|given| given + more)?;
            *credit += more;
        }
        *credit -= bytes;
        Ok(())
    }

    /// Takes the room of bytes that have been removed. If somebody else was faster, there is less in reserve.
    pub fn take_back(&self, bytes: u64) -> io::Result<()> {
        let mut credit = self.credit.lock();
        *credit += bytes;
        if *credit >= 2 * self.piece {
            // What is left lets the next file begin without a call.
            let back = *credit - self.piece - *credit % self.piece;
            self.change(|given| given.saturating_sub(back))?;
            *credit -= back;
        }
        Ok(())
    }

    /// Changes the bytes given, while no other process does, and the file with them.
    fn change(&self, change: impl FnOnce(u64) -> u64) -> io::Result<()> {
        self.file.lock()?;
        let changed = self.change_locked(change);
        self.file.unlock()?;
        changed
    }

    fn change_locked(&self, change: impl FnOnce(u64) -> u64) -> io::Result<()> {
        let [size, given] = header(&self.file)?;
        let given = change(given);
        // More may have been given than there was: files have to go before there is something in reserve again.
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

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn header(file: &File) -> io::Result<[u64; 2]> {
    let mut header = [0; 2];
    file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0)?;
    Ok(header)
}

/// Gives a part of a file its place on the disk.
fn allocate(file: &File, from: u64, len: u64) -> io::Result<()> {
    Ok(retry_on_intr(|| fallocate(file, FallocateFlags::empty(), from, len))?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    use super::*;

    const SIZE: u64 = 8 << 20;

    /// A reserve, and what it takes of the disk; `None` where none can be made.
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
        reserve.give(1).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE - piece);
        assert!(taken() <= SIZE - piece + PAGE, "{}", taken());
        // The rest of a piece costs nothing.
        reserve.give(piece - 1).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE - piece);
        reserve.give(3 * piece + 1).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE - 5 * piece);
        reserve.take_back(4 * piece + 1).unwrap();
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
        // One rank writes much more than its part, and more than all there is; the other removes it.
        for _ in 0..14 {
            ranks[0].give(700_001).unwrap();
            files += 700_001;
            check(files);
        }
        assert!(files > SIZE);
        for _ in 0..14 {
            ranks[1].take_back(700_001).unwrap();
            files -= 700_001;
            check(files);
        }
        // What never came out of the reserve does not make it larger.
        ranks[1].take_back(SIZE).unwrap();
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
