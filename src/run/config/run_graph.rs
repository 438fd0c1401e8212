//! The graph of an earlier run.

use super::run_config::RunConfig;
use crate::error::Result;
use crate::formats::dgl::config::PartitionConfig;

/// Opens the graph of a run, which may have been moved since.
pub(in crate::run) fn open_graph(run: &RunConfig) -> Result<PartitionConfig> {
    PartitionConfig::open(&run.part_json).map_err(|error| {
        if run.part_json.exists() {
            return error;
        }
        error.with_hint("if the graph has moved, name its JSON file with ‹part_json=FILE›")
    })
}
