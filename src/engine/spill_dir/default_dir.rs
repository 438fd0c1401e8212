//! The default folder for spilled data.

use std::path::{PathBuf, absolute};

/// The default folder for spilled data: `$TMPDIR` as an absolute path, or /var/tmp if that is unset or empty. (/var/tmp is
/// on a disk; /tmp often is not.)
pub fn default_spill_dir() -> PathBuf {
    let folder = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    absolute(&folder).unwrap_or(folder)
}
