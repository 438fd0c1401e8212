//! How much space is free on a disk.

use std::path::Path;

use rustix::fs::statvfs;

/// Bytes still free for files below a folder, which need not exist. `None` if the system does not report it.
pub fn free_space(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let disk = statvfs(existing).ok()?;
    // A file system without a size (ramfs) has no limit.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}
