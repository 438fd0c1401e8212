//! Paths as a configuration holds them.

use std::path::PathBuf;

use crate::io::is_standard_output;
use crate::words::error::{Error, Result};

/// Makes the path of an output file absolute; `-` stays standard output.
pub(in crate::cli) fn absolute_output(path: PathBuf) -> Result<PathBuf> {
    if is_standard_output(&path) { Ok(path) } else { absolute(path) }
}

/// Makes a path absolute: the configuration is stored with the results and may be read in another folder.
pub(in crate::cli) fn absolute(path: PathBuf) -> Result<PathBuf> {
    let path = std::path::absolute(&path).map_err(|e| Error::io("find", &path, e))?;
    if path.to_str().is_some() {
        return Ok(path);
    }
    Err(Error::input(&path, "", "is not UTF-8, so config.toml cannot hold the path")
        .with_hint("rename the folder or file"))
}
