//! The disk space of all ranks' files together.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use parking_lot::Mutex;
use rustix::io::{pread, retry_on_intr};

use super::accounted_storage::SpaceAccount;

/// Name of the file in the run's folder that ranks share. For each rank it holds the bytes that the rank's calls added
/// to the disk (`i64`), and the largest sum over all ranks that the rank has seen (`i64`).
const LEDGER: &str = "disk-use";
const ENTRY: usize = 16;

/// A ledger of the space of ranks' files. Used by the runs that a plan is made from, because each write costs two more
/// small calls.
pub struct DiskMeter {
    ledger: File,
    rank: usize,
    world_size: usize,
    /// Bytes that this rank's calls added, and the largest sum that it has seen.
    entry: Mutex<[i64; 2]>,
}

impl DiskMeter {
    /// Opens the ledger of the ranks that share `folder`.
    ///
    /// # Errors
    /// If the ledger cannot be created.
    pub fn open(folder: &Path, rank: usize, world_size: usize) -> io::Result<Self> {
        let path = folder.join(LEDGER);
        let mut options = OpenOptions::new();
        let ledger =
            options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Ok(DiskMeter { ledger, rank, world_size, entry: Mutex::default() })
    }

    /// Peak of the bytes in files, over all ranks that shared `folder`.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn peak(folder: &Path) -> io::Result<u64> {
        let ledger = fs::read(folder.join(LEDGER))?;
        Ok(entries(&ledger).map(|[_, peak]| peak).max().unwrap_or(0).max(0) as u64)
    }

    fn add(&self, bytes: i64) -> io::Result<()> {
        let mut entry = self.entry.lock();
        entry[0] += bytes;
        if bytes > 0 {
            let mut ledger = vec![0_u8; self.world_size * ENTRY];
            // Entries of ranks that have not written yet may lie after the end of the file.
            let known = retry_on_intr(|| pread(&self.ledger, &mut ledger[..], 0))?;
            let others = entries(&ledger[..known]).enumerate();
            let others = others.filter(|(rank, _)| *rank != self.rank);
            let sum = entry[0] + others.map(|(_, [added, _])| added).sum::<i64>();
            entry[1] = entry[1].max(sum);
        }
        FileExt::write_all_at(&self.ledger, bytemuck::bytes_of(&*entry), (self.rank * ENTRY) as u64)
    }
}

impl SpaceAccount for DiskMeter {
    fn take(&self, bytes: u64) -> io::Result<()> {
        self.add(bytes as i64)
    }

    fn give_back(&self, bytes: u64) -> io::Result<()> {
        self.add(-(bytes as i64))
    }
}

fn entries(ledger: &[u8]) -> impl Iterator<Item = [i64; 2]> {
    let numbers = ledger.as_chunks::<8>().0.as_chunks::<2>().0;
    numbers.iter().map(|entry| entry.map(i64::from_ne_bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{AccountedStorage, DiskStorage, Storage};
    use super::*;

    #[test]
    fn the_peak_is_that_of_all_ranks_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let rank = |rank| {
            let meter = DiskMeter::open(folder.path(), rank, 2).unwrap();
            AccountedStorage::new(Arc::new(DiskStorage::default()), meter)
        };
        let (first, second) = (rank(0), rank(1));
        let write = |storage: &AccountedStorage, name: &str, bytes: &[u8]| {
            let mut file = storage.create(&path(name)).unwrap();
            file.write(bytes).unwrap();
            file.finish().unwrap();
        };
        write(&second, "a", &[0; 100]);
        write(&first, "b", &[0; 30]);
        // A file counts until it is removed, whoever wrote it.
        first.remove(&path("a")).unwrap();
        write(&second, "c", &[0; 60]);
        assert_eq!(DiskMeter::peak(folder.path()).unwrap(), 130);
    }
}
