//! A graph as files give it.

mod raw_edges;
mod raw_graph;
mod reverse;

pub use raw_edges::RawEdges;
pub(crate) use raw_edges::{ENDS, RawEdgeWriter, bytes_of_ends, ends_of};
pub use raw_graph::{EdgeType, NodeType, RawGraph};
