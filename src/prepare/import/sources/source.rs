//! Source of an imported graph.

use std::path::{Path, PathBuf};

use super::partitions::import_partitions;
use super::stdin::SpooledFiles;
use crate::prepare::import::files::GraphFiles;
use crate::prepare::import::graph::RawGraph;
use crate::prepare::import::import_graph::import;
use crate::words::error::Result;

/// Source from which a graph is read.
#[allow(clippy::large_enum_variant)] // A program has one of them.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportSource {
    /// Files of edges, and tables of nodes and edges. One path may be `-`, standard input.
    Files(GraphFiles),
    /// A partition directory's JSON file.
    Partitions(PathBuf),
}

impl ImportSource {
    /// Reads the graph. Temporary files take their space in `folder`. `memory` bounds the memory for node names and
    /// sorting; `tell` gets the amount read so far and the total.
    ///
    /// # Errors
    /// If a file is missing or malformed, or files contradict each other.
    pub fn read(
        &self,
        folder: &Path,
        memory: u64,
        tell: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<RawGraph> {
        match self {
            ImportSource::Files(files) => {
                let spooled = SpooledFiles::new(files, folder)?;
                spooled.named(import(&spooled.files, folder, memory, tell))
            }
            ImportSource::Partitions(json) => import_partitions(json, folder, memory, tell),
        }
    }
}
