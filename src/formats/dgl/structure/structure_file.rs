//! Choice of the file with the structure of a partition.

use super::local_graph::LocalGraph;
use crate::formats::dgl::config::PartitionConfig;
use crate::words::error::{Error, Result};
use std::path::Path;

/// Reads the headers of `graph.dgl`, or of GraphBolt's file if `graph.dgl` does not exist, and checks counts against
/// the JSON file. Also returns notes for the user.
pub(crate) fn open_structure(
    config: &PartitionConfig,
    part: usize,
) -> Result<(LocalGraph, Vec<String>)> {
    let Some(files) = config.parts().get(part) else {
        let problem =
            format!("there is no partition {part}; the graph has {}", config.parts().len());
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
    let (nodes, edges) = (config.book().node_range(part), config.book().edge_range(part));
    check_count(&graph.path, "nodes", graph.num_nodes, nodes.end - nodes.start)?;
    check_count(&graph.path, "edges", graph.num_edges, edges.end - edges.start)?;
    if graph.edges.id.is_none() {
        notes.push(format!(
            "{} holds no edge ids: edges are numbered as they are stored, and edge features cannot be used",
            graph.path.display()
        ));
    }
    Ok((graph, notes))
}

fn check_count(path: &Path, what: &str, stored: u64, owned: u64) -> Result<()> {
    if stored >= owned {
        return Ok(());
    }
    let problem = format!("{stored} {what} are stored, but the partition owns {owned}");
    Err(Error::input(path, "", problem))
}
