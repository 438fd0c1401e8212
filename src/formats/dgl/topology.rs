//! The structure of one partition: the file that holds it, and its edges.

use super::config::PartitionConfig;
use super::edge_reader::EdgeReader;
use super::nodes::node_table::NodeTable;
use super::structure::local_graph::LocalGraph;
use super::structure::structure_file::open_structure;
use crate::words::error::Result;

/// The open structure file of one partition.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    config: PartitionConfig,
    part: usize,
    graph: LocalGraph,
    inner_first: bool,
    notes: Vec<String>,
}

impl Topology {
    /// Opens the structure file and checks the node ids.
    pub(crate) fn open(config: &PartitionConfig, part: usize) -> Result<Self> {
        Ok(Self::open_with_nodes(config, part)?.0)
    }

    /// The same, with the ids that have been checked.
    pub(crate) fn open_with_nodes(
        config: &PartitionConfig,
        part: usize,
    ) -> Result<(Self, NodeTable)> {
        let (graph, notes) = open_structure(config, part)?;
        let nodes = NodeTable::load(config, part, &graph)?;
        let (config, inner_first) = (config.clone(), nodes.is_inner_first());
        Ok((Topology { config, part, graph, inner_first, notes }, nodes))
    }

    pub(crate) fn config(&self) -> &PartitionConfig {
        &self.config
    }

    pub(crate) fn part(&self) -> usize {
        self.part
    }

    pub(crate) fn graph(&self) -> &LocalGraph {
        &self.graph
    }

    /// Whether the inner nodes come before all others, as in every file that DGL wrote.
    pub(crate) fn is_inner_first(&self) -> bool {
        self.inner_first
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The global ids of the local nodes.
    pub(crate) fn nodes(&self) -> Result<NodeTable> {
        NodeTable::load(&self.config, self.part, &self.graph)
    }

    /// The inner edges in blocks of at most `max`.
    pub(crate) fn edges(&self, max: usize) -> Result<EdgeReader> {
        EdgeReader::new(&self.config, self.part, &self.graph, max)
    }
}
