//! How much of a disk is free, and how fast it is.

use std::path::Path;

use rustix::fs::statvfs;

use super::measure::PREFIX;
use crate::io::{DiskRate, IoMode};

/// Bytes that can still be written below a folder, which need not be there. `None` where the system does not say.
pub(super) fn free(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|path| path.exists())?;
    let disk = statvfs(existing).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// How fast files are written and read in a folder; `None` if that cannot be measured.
pub(super) fn rate(folder: &Path, mode: IoMode) -> Option<DiskRate> {
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder).ok()?;
    DiskRate::measure(folder.path(), mode).ok()
}
