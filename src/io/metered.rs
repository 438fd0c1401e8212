//! A storage that records the disk space of all ranks' files together.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::interrupted::uninterrupted;
use super::storage::{FileWriter, Storage, StorageFile};

/// Name of the file in the run's folder that ranks share. For each rank it holds the bytes that the rank's calls added
/// to the disk (`i64`), and the largest sum over all ranks that the rank has seen (`i64`).
const LEDGER: &str = "disk-use";
const ENTRY: usize = 16;

/// A storage around another one, with a ledger of its files' space. Used by the runs that a plan is made from, because
/// each write costs two more small calls.
#[derive(Clone)]
pub struct MeteredStorage {
    inner: Arc<dyn Storage>,
    meter: Arc<Meter>,
}

struct Meter {
    ledger: File,
    rank: usize,
    world_size: usize,
    /// Bytes that this rank's calls added, and the largest sum that it has seen.
    entry: Mutex<[i64; 2]>,
}

impl MeteredStorage {
    /// A metered storage around `inner`. All ranks share `folder`.
    ///
    /// # Errors
    /// If the ledger cannot be created.
    pub fn new(
        inner: Arc<dyn Storage>,
        folder: &Path,
        rank: usize,
        world_size: usize,
    ) -> io::Result<Self> {
        let path = folder.join(LEDGER);
        let mut options = OpenOptions::new();
        let ledger =
            options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let meter = Meter { ledger, rank, world_size, entry: Mutex::default() };
        Ok(MeteredStorage { inner, meter: Arc::new(meter) })
    }

    /// Peak of the bytes in files, over all ranks that shared `folder`.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn peak(folder: &Path) -> io::Result<u64> {
        let ledger = fs::read(folder.join(LEDGER))?;
        Ok(entries(&ledger).map(|[_, peak]| peak).max().unwrap_or(0).max(0) as u64)
    }
}

fn entries(ledger: &[u8]) -> impl Iterator<Item = [i64; 2]> {
    let numbers = ledger.as_chunks::<8>().0.as_chunks::<2>().0;
    numbers.iter().map(|entry| entry.map(i64::from_ne_bytes))
}

impl Meter {
    fn add(&self, bytes: i64) -> io::Result<()> {
        let mut entry = self.entry.lock();
        entry[0] += bytes;
        if bytes > 0 {
            let mut ledger = vec![0; self.world_size * ENTRY];
            // Entries of ranks that have not written yet may lie after the end of the file.
            let known = uninterrupted(|| self.ledger.read_at(&mut ledger, 0))?;
            let others = entries(&ledger[..known]).enumerate();
            let others = others.filter(|(rank, _)| *rank != self.rank);
            let sum = entry[0] + others.map(|(_, [added, _])| added).sum::<i64>();
            entry[1] = entry[1].max(sum);
        }
        FileExt::write_all_at(&self.ledger, bytemuck::bytes_of(&*entry), (self.rank * ENTRY) as u64)
    }
}

impl Storage for MeteredStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        let inner = self.inner.create(path)?;
        Ok(Box::new(MeteredWriter { inner, meter: self.meter.clone() }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.inner.open(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let len = fs::metadata(path)?.len();
        self.inner.remove(path)?;
        self.meter.add(-(len as i64))
    }

    fn set_cache_share(&self, bytes: u64) {
        self.inner.set_cache_share(bytes);
    }

    fn cached_bytes(&self) -> u64 {
        self.inner.cached_bytes()
    }
}

struct MeteredWriter {
    inner: Box<dyn FileWriter>,
    meter: Arc<Meter>,
}

impl FileWriter for MeteredWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.write(bytes)?;
        self.meter.add(bytes.len() as i64)
    }

    fn cached(&self) -> u64 {
        self.inner.cached()
    }

    fn shared(&self) -> u64 {
        self.inner.shared()
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn StorageFile>> {
        self.inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::DiskStorage;
    use super::*;

    #[test]
    fn the_peak_is_that_of_all_ranks_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let rank = |rank| {
            MeteredStorage::new(Arc::new(DiskStorage::default()), folder.path(), rank, 2).unwrap()
        };
        let (first, second) = (rank(0), rank(1));
        let write = |storage: &MeteredStorage, name: &str, bytes: &[u8]| {
            let mut file = storage.create(&path(name)).unwrap();
            file.write(bytes).unwrap();
            file.finish().unwrap();
        };
        write(&second, "a", &[0; 100]);
        write(&first, "b", &[0; 30]);
        // A file counts until it is removed, whoever wrote it.
        first.remove(&path("a")).unwrap();
        write(&second, "c", &[0; 60]);
        assert_eq!(MeteredStorage::peak(folder.path()).unwrap(), 130);
    }
}
