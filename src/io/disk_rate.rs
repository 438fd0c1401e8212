//! Speed of a disk.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::aligned_buffer::AlignedBuffer;
use super::disk_storage::{DiskStorage, IoMode};
use super::storage::Storage;

/// Largest number of bytes that a measurement writes and reads, and bytes per call.
const BYTES: usize = 32 << 20;
const CALL: usize = 4 << 20;
/// Time limit of writing and of reading: on a slow or busy disk, fewer bytes tell as much.
const TIME: Duration = Duration::from_millis(250);

/// Rates of writing and reading files without room in the page cache, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DiskRate {
    /// Way the bytes move: direct or buffered.
    pub mode: IoMode,
    /// Bytes written per second.
    pub write: f64,
    /// Bytes read per second.
    pub read: f64,
}

impl DiskRate {
    /// Measures the rates of `mode`, or of the faster mode if `mode` leaves the choice. Takes a fraction of a second on
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

    /// Seconds per byte to the disk and back.
    fn pass(&self) -> f64 {
        1.0 / self.write + 1.0 / self.read
    }

    fn of(folder: &Path, mode: IoMode) -> io::Result<Self> {
        let storage = DiskStorage::with_share(mode);
        let path = folder.join("disk-rate");
        // At a page, like large values.
        let mut memory = AlignedBuffer::new(CALL);
        let bytes = memory.first_mut(CALL);
        bytes.fill(0x5a);
        let begin = Instant::now();
        let mut file = storage.create(&path)?;
        let written = in_time(BYTES, |_| file.write(bytes));
        let file = written.and_then(|len| Ok((len, file.finish()?)));
        let written_s = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let moved = file.and_then(|(len, file)| {
            Ok([len, in_time(len, |at| file.read_around(bytes, at as u64))?])
        });
        let read_s = begin.elapsed().as_secs_f64();
        storage.remove(&path)?;
        moved.map(|[written, read]| {
            let (write, read) = (written as f64 / written_s, read as f64 / read_s);
            DiskRate { mode, write, read }
        })
    }
}

/// Makes calls for up to `most` bytes, each with its offset, until time is up. Returns the number of bytes.
fn in_time(most: usize, mut call: impl FnMut(usize) -> io::Result<()>) -> io::Result<usize> {
    let begin = Instant::now();
    let mut done = 0;
    while done < most && (done == 0 || begin.elapsed() < TIME) {
        call(done)?;
        done += CALL;
    }
    Ok(done)
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
