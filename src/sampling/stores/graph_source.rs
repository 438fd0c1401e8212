//! The interface between samplers and a graph.

use std::sync::Arc;

use tch::{Kind, Tensor};

use super::draws::SampleKey;
use super::fanout::Fanout;
use super::sample::Sampling;
use crate::graph::{InEdges, PartitionBook};
use crate::load::{EdgeFeatures, NodeColumn};
use crate::words::error::Result;

/// In-edges and feature rows of the whole graph, read from all partitions' files ([`DistGraph`](super::DistGraph)) or
/// requested from the ranks that own them ([`CollectiveGraph`](super::CollectiveGraph)), with the same results. Ids are
/// homogeneous.
pub trait GraphSource {
    /// The owners of nodes and edges.
    fn book(&self) -> &Arc<PartitionBook>;

    /// Draws in-edges of nodes, node by node in the order of `nodes`, with weights if the graph was opened with a weight
    /// key: DGL's `sample_neighbors` and, with a fan-out per type, `sample_etype_neighbors`. The sample is a pure function
    /// of the graph, `how`, `key` and each node.
    ///
    /// # Errors
    /// If a node does not exist, or a file or message cannot be read.
    fn sample_neighbors(&self, nodes: &[u64], how: &Sampling, key: SampleKey) -> Result<InEdges>;

    /// In-degrees of nodes.
    ///
    /// # Errors
    /// If a node does not exist or a file cannot be read.
    fn in_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>>;

    /// Out-degrees of nodes, over the whole graph.
    ///
    /// # Errors
    /// If a node does not exist, or a file or message cannot be read.
    fn out_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>>;

    /// Source and destination of edges: DGL's `find_edges`.
    ///
    /// # Errors
    /// If an edge does not exist, a file or message cannot be read, or the graph was opened without
    /// [`IndexConfig::ends`](super::IndexConfig::ends).
    fn find_edges(&self, edges: &[u64]) -> Result<(Vec<u64>, Vec<u64>)>;

    /// Rows of a feature, as [`NodeColumn::read`] returns them.
    ///
    /// # Errors
    /// If a node does not exist, or a file or message cannot be read.
    fn rows(&self, column: &NodeColumn, nodes: &[u64]) -> Result<Tensor> {
        column.read(nodes)
    }

    /// Rows of a feature of edges, as [`EdgeFeatures::read`] returns them, `float32`.
    ///
    /// # Errors
    /// If an edge does not exist, or a file or message cannot be read.
    fn edge_rows(&self, features: &EdgeFeatures, edges: &[u64]) -> Result<Tensor> {
        features.read(edges, Kind::Float)
    }

    /// All in-edges of nodes (ids without duplicates), node by node: DGL's `in_subgraph`.
    ///
    /// # Errors
    /// As for [`sample_neighbors`](Self::sample_neighbors).
    fn in_subgraph(&self, nodes: &[u64]) -> Result<InEdges> {
        let all = Sampling { fanout: Fanout::ALL, replace: false, weighted: false };
        self.sample_neighbors(nodes, &all, SampleKey { seed: 0, epoch: 0, batch: 0, layer: 0 })
    }
}
