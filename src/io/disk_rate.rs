//! How fast a disk is, each way.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::disk_storage::{DiskStorage, IoMode};
use super::storage::Storage;

/// Bytes that a measurement writes and reads, and of one call.
const BYTES: usize = 64 << 20;
const CALL: usize = 4 << 20;

/// How many bytes per second go to files that have no room in the page cache, and come from them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskRate {
    /// The way they go: direct or buffered.
    pub mode: IoMode,
    /// Written per second.
    pub write: f64,
    /// Read per second.
    pub read: f64,
}

impl DiskRate {
    /// Of the way that `mode` says; of the faster one if it leaves the choice. Takes a fraction of a second, on most disks.
    /// `folder` holds a file meanwhile.
    ///
    /// # Errors
    /// If files cannot be written there, or not in this way.
    pub fn measure(folder: &Path, mode: IoMode) -> io::Result<Self> {
        match mode {
            IoMode::Direct | IoMode::Buffered => DiskRate::of(folder, mode),
            IoMode::Auto => {
                let buffered = DiskRate::of(folder, IoMode::Buffered)?;
                match DiskRate::of(folder, IoMode::Direct) {
                    Err(e) if e.kind() == io::ErrorKind::Unsupported => Ok(buffered),
                    Ok(direct) if direct.pass() > buffered.pass() => Ok(buffered),
                    direct => direct,
                }
            }
        }
    }

    /// Seconds that a byte takes to the disk and back.
    fn pass(&self) -> f64 {
        1.0 / self.write + 1.0 / self.read
    }

    fn of(folder: &Path, mode: IoMode) -> io::Result<Self> {
        let storage = DiskStorage::with_share(mode);
        let path = folder.join("disk-rate");
        let mut bytes = vec![0x5a; CALL];
        let begin = Instant::now();
        let mut file = storage.create(&path)?;
        let written = (0..BYTES / CALL).try_for_each(|_| file.write(&bytes));
        let file = written.and_then(|()| file.finish());
        let written = begin.elapsed();
        let begin = Instant::now();
        let read = file.and_then(|file| {
            (0..BYTES).step_by(CALL).try_for_each(|at| file.read_around(&mut bytes, at as u64))
        });
        let rate = |seconds: f64| BYTES as f64 / seconds;
        let (write, of_reading) =
            (rate(written.as_secs_f64()), rate(begin.elapsed().as_secs_f64()));
        storage.remove(&path)?;
        read.map(|()| DiskRate { mode, write, read: of_reading })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_a_rate_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [IoMode::Auto, IoMode::Buffered] {
            let rate = DiskRate::measure(folder.path(), mode).unwrap();
            assert!(rate.write > 0.0 && rate.read > 0.0 && rate.mode != IoMode::Auto, "{rate:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(DiskRate::measure(&folder.path().join("none"), IoMode::Auto).is_err());
    }
}
