//! How fast a disk is.

use std::path::Path;

use super::measure::PREFIX;
use crate::io::{DiskRate, IoMode};

/// How fast files are written and read in a folder; `None` if that cannot be measured.
pub(super) fn rate(folder: &Path, mode: IoMode) -> Option<DiskRate> {
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder).ok()?;
    DiskRate::measure(folder.path(), mode).ok()
}
