//! Summary of a partition, from the headers of its files.

use crate::formats::dgl::config::{PartFiles, PartitionConfig};
use crate::formats::dgl::feature_set::FeatureSet;
use crate::formats::dgl::partition::open_features;
use crate::formats::dgl::structure::structure_file::open_structure;
use crate::words::error::Result;

/// Counts, sizes and features of one partition. Ids and edges are neither read nor checked, so this is fast for
/// partitions of any size; [`Partition::open`](super::Partition::open) and [`verify`](super::verify()) check them.
#[derive(Clone, Debug)]
pub struct PartitionSummary {
    /// Index of this partition.
    pub part: usize,
    /// Number of nodes that the partition owns.
    pub num_inner_nodes: u64,
    /// Number of foreign nodes in the file.
    pub num_halo_nodes: u64,
    /// Number of edges that the partition owns.
    pub num_inner_edges: u64,
    /// Number of foreign edges in the file.
    pub num_halo_edges: u64,
    /// Size of the partition's files in bytes, including files that exist but are not used.
    pub bytes: u64,
    /// Features of inner nodes.
    pub node_features: FeatureSet,
    /// Features of inner edges.
    pub edge_features: FeatureSet,
    /// Notes for the user on how this partition was interpreted.
    pub notes: Vec<String>,
}

impl PartitionSummary {
    /// Numbers of nodes and edges that the partition owns.
    pub fn size(&self) -> [u64; 2] {
        [self.num_inner_nodes, self.num_inner_edges]
    }

    /// Reads the headers of the files of partition `part`.
    ///
    /// # Errors
    /// If the partition does not exist; a file is missing, unreadable, of the wrong kind or cut short; or its counts or feature
    /// rows contradict the JSON file.
    pub fn open(config: &PartitionConfig, part: usize) -> Result<Self> {
        let (graph, notes) = open_structure(config, part)?;
        let (node_features, edge_features) = open_features(config, part, &graph)?;
        let (nodes, edges) = (config.book().node_range(part), config.book().edge_range(part));
        let (inner_nodes, inner_edges) = (nodes.end - nodes.start, edges.end - edges.start);
        Ok(PartitionSummary {
            part,
            num_inner_nodes: inner_nodes,
            num_halo_nodes: graph.num_nodes - inner_nodes,
            num_inner_edges: inner_edges,
            num_halo_edges: graph.num_edges - inner_edges,
            bytes: bytes_of(&config.parts()[part]),
            node_features,
            edge_features,
            notes,
        })
    }
}

fn bytes_of(files: &PartFiles) -> u64 {
    let optional = [&files.graph, &files.graphbolt, &files.orig_nids, &files.orig_eids];
    let all = optional.into_iter().flatten().chain([&files.node_feats, &files.edge_feats]);
    all.filter_map(|path| std::fs::metadata(path).ok()).map(|info| info.len()).sum()
}
