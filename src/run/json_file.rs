//! JSON files in a run's folder.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::io::{AtomicFile, read_if_there};
use crate::words::error::{Error, Result};

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec(value)
        .map_err(|e| Error::internal(format!("cannot encode {}: {e}", path.display())))?;
    let file = AtomicFile::create(path)?;
    file.file().write_all(&text).map_err(|e| Error::io("write", path, e))?;
    file.commit()
}

/// The content of a file; `None` if the file does not exist.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Some(text) = read_if_there(path)? else { return Ok(None) };
    let value = serde_json::from_str(&text);
    value.map(Some).map_err(|e| Error::input(path, "", format!("is damaged: {e}")))
}
