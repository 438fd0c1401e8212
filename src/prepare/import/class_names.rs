//! The names of classes, next to a partition directory's JSON file.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result};
use crate::io::read_input;

/// Name of the file of classes' names, one per line.
pub(crate) const CLASS_NAMES: &str = "class_names.txt";

/// The names of classes in a folder; empty if it has none.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read_class_names(folder: &Path) -> Result<Vec<String>> {
    let path = folder.join(CLASS_NAMES);
    match read_input(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(Error::unreadable(&path, &e)),
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
    }
}

/// Writes the names of classes.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_class_names(folder: &Path, names: &[String]) -> Result<()> {
    let path = folder.join(CLASS_NAMES);
    fs::write(&path, names.join("\n") + "\n").map_err(|e| Error::io("write", &path, e))
}
