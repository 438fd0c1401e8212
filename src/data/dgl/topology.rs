//! The structure of one partition: which file holds it, and its edges.

use crate::data::dgl::config::PartitionConfig;
use crate::data::dgl::edge_reader::EdgeReader;
use crate::data::dgl::local_graph::LocalGraph;
use crate::data::dgl::node_table::NodeTable;
use crate::error::{Error, Result};

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
    /// Opens `graph.dgl`, or GraphBolt's file where there is no `graph.dgl`, and checks the node ids.
    pub(crate) fn open(config: &PartitionConfig, part: usize) -> Result<Self> {
        let Some(files) = config.parts().get(part) else {
            let problem = format!("there is no partition {part}, of {}", config.parts().len());
            return Err(Error::input(config.path(), "num_parts", problem));
        };
        let mut notes = Vec::new();
        let graph = match (&files.graph, &files.graphbolt) {
            (Some(path), graphbolt) if path.exists() || graphbolt.is_none() => {
                LocalGraph::from_graph_file(path)?
            }
            (missing, Some(path)) => {
                if let Some(missing) = missing {
                    let missing = missing.display();
                    notes.push(format!("{missing} does not exist; {} is read", path.display()));
                }
                LocalGraph::from_graphbolt(path, config.book())?
            }
            (_, None) => return Err(Error::input(config.path(), "part_graph", "is missing")),
        };
        let own = config.book().edge_range(part);
        if graph.num_edges < own.end - own.start {
            let (stored, owned) = (graph.num_edges, own.end - own.start);
            let problem = format!("{stored} edges are stored, the partition owns {owned}");
            return Err(Error::input(&graph.path, "", problem));
        }
        if graph.edges.id.is_none() {
            notes.push(format!(
                "{} holds no edge ids: edges are numbered as they are stored, and edge features cannot be used",
                graph.path.display()
            ));
        }
        let inner_first = NodeTable::load(config, part, &graph)?.is_inner_first();
        Ok(Topology { config: config.clone(), part, graph, inner_first, notes })
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
