//! How much of a disk is free.

use std::path::Path;

use rustix::fs::statvfs;

/// Bytes that can still be written below a folder, which need not be there. `None` where the system does not say.
pub fn free_space(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let disk = statvfs(existing).ok()?;
    // Without a size (ramfs) it has no limit of its own.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}
