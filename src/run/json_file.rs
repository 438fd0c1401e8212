//! JSON files in a run's folder.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::launch::results_folder::METRICS;
use crate::io::{AtomicFile, read_if_there, read_input};
use crate::words::error::{Error, Result};

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec(value)
        .map_err(|e| Error::internal(format!("cannot encode {}: {e}", path.display())))?;
    AtomicFile::write(path, &text)
}

/// The content of a file; `None` if the file does not exist.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Some(text) = read_if_there(path)? else { return Ok(None) };
    let value = serde_json::from_str(&text);
    value.map(Some).map_err(|e| Error::input(path, "", format!("is damaged: {e}")))
}

/// The lines of metrics in a run's folder, without those that a killed run has cut short.
pub(crate) fn read_metrics(folder: &Path) -> io::Result<Vec<Value>> {
    let text = read_input(&folder.join(METRICS))?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}
