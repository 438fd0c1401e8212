//! The default folder for spilled data.

use std::path::PathBuf;

/// The default folder for spilled data: `$TMPDIR`, or if that is unset or empty /var/tmp, which is on a disk where /tmp often
/// is not.
pub fn default_spill_dir() -> PathBuf {
    let folder = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
    folder.map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}
