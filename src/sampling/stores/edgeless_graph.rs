//! The nodes of a graph without its edges.

use std::sync::Arc;

use super::draws::SampleKey;
use super::graph_source::GraphSource;
use super::sample::Sampling;
use crate::graph::{InEdges, PartitionBook};
use crate::words::error::{Error, Result};

/// The nodes and node features of a graph. No node has an edge, so no index of edges is read.
pub struct EdgelessGraph {
    book: Arc<PartitionBook>,
}

impl EdgelessGraph {
    /// The nodes of a partitioned graph.
    pub fn new(book: Arc<PartitionBook>) -> Self {
        EdgelessGraph { book }
    }
}

impl GraphSource for EdgelessGraph {
    fn book(&self) -> &Arc<PartitionBook> {
        &self.book
    }

    fn sample_neighbors(&self, nodes: &[u64], _: &Sampling, _: SampleKey) -> Result<InEdges> {
        Ok(InEdges { counts: vec![0; nodes.len()], ..InEdges::default() })
    }

    fn in_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        Ok(vec![0; nodes.len()])
    }

    fn out_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        Ok(vec![0; nodes.len()])
    }

    fn find_edges(&self, edges: &[u64]) -> Result<(Vec<u64>, Vec<u64>)> {
        match edges {
            [] => Ok((Vec::new(), Vec::new())),
            [edge, ..] => Err(Error::internal(format!("edge {edge} of a graph without edges"))),
        }
    }
}
