//! Nodes and edges that are added to a partitioned graph.

mod new_edges;
mod new_nodes;

pub(crate) use new_edges::{AllNodes, NewEdges, read_new_edges};
pub(crate) use new_nodes::{KnownNodes, NewNodes};
