//! How fast a disk is.

use std::path::Path;

use crate::io::{DiskRate, IoMode};
use crate::launcher::RunFolder;

/// How fast files are written and read in a folder; `None` if that cannot be measured.
pub(super) fn rate(folder: &Path, mode: IoMode) -> Option<DiskRate> {
    let (folder, _control) = RunFolder::create(folder, 1, 1).ok()?;
    DiskRate::measure(folder.path(), mode).ok()
}
