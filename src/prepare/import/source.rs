//! What a graph is read from.

use std::path::{Path, PathBuf};

use super::files::GraphFiles;
use super::graph::RawGraph;
use super::import_graph::import;
use super::partitions::import_partitions;
use crate::error::Result;

/// What a graph is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphSource {
    /// Files of edges, and tables of nodes and edges.
    Files(GraphFiles),
    /// A partition directory's JSON file.
    Partitions(PathBuf),
}

impl GraphSource {
    /// Reads the graph. Temporary files without a name take their room in `folder`. `memory` bounds what names of nodes, and
    /// sorting, take; `tell` hears how much of how much has been read.
    ///
    /// # Errors
    /// A file is missing or malformed, or files contradict each other.
    pub fn read(
        &self,
        folder: &Path,
        memory: u64,
        tell: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<RawGraph> {
        match self {
            GraphSource::Files(files) => import(files, folder, memory, tell),
            GraphSource::Partitions(json) => import_partitions(json, folder, memory, tell),
        }
    }
}
