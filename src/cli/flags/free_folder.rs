//! Folders that commands name themselves.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::event::file_name;

/// The first of PARENT/GRAPH-1, PARENT/GRAPH-2, ... that does not exist.
pub(in crate::cli) fn free_folder(parent: &str, graph: &str) -> PathBuf {
    let graph = file_name(graph);
    let candidates = (1..).map(|n: u32| Path::new(parent).join(format!("{graph}-{n}")));
    let mut free = candidates.filter(|path| !path.exists());
    free.next().unwrap_or_else(|| PathBuf::from(parent))
}

/// The name of the graph of a file of edges, which may begin with their type.
pub(in crate::cli) fn name_of(edges: &OsStr) -> String {
    let edges = edges.to_string_lossy();
    let path = edges.split_once('=').map_or(&*edges, |(_, path)| path);
    let file = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or_default();
    file_name(stem.trim_matches('-'))
}
