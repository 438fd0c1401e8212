//! How fast a disk writes and reads.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::disk_storage::{DiskStorage, IoMode};
use super::storage::Storage;

/// Bytes that a measurement writes and reads, and bytes per call.
const BYTES: usize = 64 << 20;
const CALL: usize = 4 << 20;

/// The rates at which files without room in the page cache are written and read, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskRate {
    /// How the bytes move: direct or buffered.
    pub mode: IoMode,
    /// Bytes written per second.
    pub write: f64,
    /// Bytes read per second.
    pub read: f64,
}

impl DiskRate {
    /// Measures the rates of `mode`, or of the faster one if `mode` leaves the choice. This takes a fraction of a second on
    /// most disks, during which `folder` holds a file.
    ///
    /// # Errors
    /// If files cannot be written there, or not in this mode.
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
