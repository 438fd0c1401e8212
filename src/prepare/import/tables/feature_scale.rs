//! Means and deviations used to standardise tables' numbers, in a file next to a partition directory's JSON file.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::io::read_if_there;

/// Name of the file, which has a line for each column of `feat`.
pub(crate) const FEATURE_SCALE: &str = "feature_scale.csv";

/// The first line of the file.
pub(super) const HEADER: &str = "type,column,mean,deviation\n";

/// The content of a folder's file; empty if there is none.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read_feature_scale(folder: &Path) -> Result<String> {
    Ok(read_if_there(&folder.join(FEATURE_SCALE))?.unwrap_or_default())
}

/// Writes the file.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_feature_scale(folder: &Path, content: &str) -> Result<()> {
    let path = folder.join(FEATURE_SCALE);
    fs::write(&path, content).map_err(|e| Error::io("write", &path, e))
}
