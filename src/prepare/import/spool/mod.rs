//! Edges of many types in file order, divided by type and marked by splits.

mod divided_edges;
mod edge_destination;
mod edge_progress;
mod edge_spool;
mod listed_edges;
mod record;

pub(crate) use divided_edges::DividedEdges;
pub(in crate::prepare::import) use edge_destination::{EdgeDestination, EdgesOfType, SpooledRows};
pub(in crate::prepare::import) use edge_progress::EdgeProgress;
pub(crate) use edge_spool::EdgeSpool;
pub(crate) use listed_edges::ListedEdges;
