//! Subgraphs made of selected edges.

use std::collections::HashMap;

use super::dist_graph::DistGraph;
use super::graph_source::GraphSource;
use crate::words::error::Result;

/// Selected edges with their ends. Nodes are renumbered in the order of their first occurrence, all sources first
/// (`dgl.compact_graphs`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeSubgraph {
    /// Homogeneous ids of the nodes, by their new number: DGL's `ndata[dgl.NID]`.
    pub nodes: Vec<u64>,
    /// Homogeneous ids of the edges, in the order of the request: DGL's `edata[dgl.EID]`.
    pub edges: Vec<u64>,
    /// New number of each edge's source.
    pub sources: Vec<u64>,
    /// New number of each edge's destination.
    pub destinations: Vec<u64>,
}

impl DistGraph {
    /// The graph of selected edges (homogeneous ids) and their ends: DGL's `edge_subgraph`.
    ///
    /// # Errors
    /// As for [`find_edges`](GraphSource::find_edges).
    pub fn edge_subgraph(&self, edges: &[u64]) -> Result<EdgeSubgraph> {
        let (sources, destinations) = self.find_edges(edges)?;
        let (mut nodes, mut numbers) = (Vec::new(), HashMap::new());
        let mut number = |node: &u64| {
            *numbers.entry(*node).or_insert_with(|| {
                nodes.push(*node);
                nodes.len() as u64 - 1
            })
        };
        let sources = sources.iter().map(&mut number).collect();
        let destinations = destinations.iter().map(&mut number).collect();
        Ok(EdgeSubgraph { nodes, edges: edges.to_vec(), sources, destinations })
    }
}
