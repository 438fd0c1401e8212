//! How fast a disk is, and how much of it is free.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{Advice, fadvise, statvfs};

/// Bytes of a probe, and of one call.
const PROBE: usize = 32 << 20;
const CALL: usize = 1 << 20;

/// Bytes that can still be written below a folder, which need not be there. `None` where the system does not say.
pub(super) fn free(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|path| path.exists())?;
    let disk = statvfs(existing).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes per second that are written and read in a folder, by a short test; `None` if it cannot be made.
pub(super) fn probe(folder: &Path) -> Option<[f64; 2]> {
    let mut file = tempfile::tempfile_in(folder).ok()?;
    let mut block = vec![0x5a; CALL];
    let writing = rate(&mut file, |file| {
        (0..PROBE / CALL).try_for_each(|_| file.write_all(&block))?;
        file.sync_data()
    })?;
    // Out of the cache, so that it comes from the disk.
    fadvise(&file, 0, None, Advice::DontNeed).ok()?;
    file.rewind().ok()?;
    let reading =
        rate(&mut file, |file| (0..PROBE / CALL).try_for_each(|_| file.read_exact(&mut block)))?;
    Some([writing, reading])
}

fn rate(file: &mut File, work: impl FnOnce(&mut File) -> std::io::Result<()>) -> Option<f64> {
    let begin = Instant::now();
    work(file).ok()?;
    Some(PROBE as f64 / begin.elapsed().as_secs_f64())
}
