//! The folder of a new graph, and its name.

use std::path::Path;

use crate::io::OutputFolder;
use crate::words::error::{Error, Result};

/// Maximum size of a name in bytes; most file systems allow 255, including `.json`.
const MAX_NAME: usize = 200;

/// Creates the folder of a graph, as [`OutputFolder::create`].
pub(crate) fn graph_folder(path: &Path, graph_name: &str) -> Result<OutputFolder> {
    let json = format!("{graph_name}.json");
    if path.join(&json).exists() {
        let problem = format!("{} already holds graph {graph_name} ({json})", path.display());
        let hint = "remove that folder, or choose another one with ‹out›";
        return Err(Error::config("out", problem).with_hint(hint));
    }
    OutputFolder::create(path)
}

/// Checks that a graph name can be part of a file name.
pub(crate) fn check_graph_name(name: &str) -> Result<()> {
    let unusual = |c: char| c == '/' || c.is_control();
    let problem = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME {
        "is too long for the name of a file"
    } else if name.starts_with('.') || name.contains(unusual) {
        "cannot name a file, as it begins with a dot or holds a slash or a control character"
    } else {
        return Ok(());
    };
    Err(Error::config("name", problem).with_hint("pass a short name, such as ‹name=g›"))
}
