//! One partition in the form that training reads, for all versions of DGL.

use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::edge_reader::{EdgeReader, InnerEdge};
use crate::formats::dgl::feature_set::{FeatureSet, TypeRows};
use crate::formats::dgl::original_ids::OriginalIds;
use crate::formats::dgl::original_sources;
use crate::formats::dgl::structure::local_graph::LocalGraph;
use crate::formats::dgl::structure::structure_file::open_structure;
use crate::formats::dgl::topology::Topology;
use crate::graph::PartitionBook;
use crate::words::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Number of edges that [`Partition::each_edge`] reads at a time.
const BLOCK: usize = 1 << 16;

/// An open partition: counts, edges, features. Opening it reads headers and the column of node ids; features and edges
/// are read on request.
///
/// The inner nodes are exactly `book().node_range(part())`, in ascending order.
#[derive(Clone, Debug)]
pub struct Partition {
    topology: Topology,
    node_features: FeatureSet,
    edge_features: FeatureSet,
}

impl Partition {
    /// Opens the files of partition `part`.
    ///
    /// # Errors
    /// If the partition does not exist; a file is missing, unreadable, of the wrong kind or cut short; or its counts, node ids
    /// or feature rows contradict the JSON file.
    pub fn open(config: &PartitionConfig, part: usize) -> Result<Self> {
        Self::with_features(config, part, Topology::open(config, part)?)
    }

    /// Opens the files of features of a partition whose structure is open.
    pub(super) fn with_features(
        config: &PartitionConfig,
        part: usize,
        topology: Topology,
    ) -> Result<Self> {
        let (node_features, edge_features) = open_features(config, part, topology.graph())?;
        Ok(Partition { topology, node_features, edge_features })
    }

    /// Index of this partition.
    pub fn part(&self) -> usize {
        self.topology.part()
    }

    /// The owners of nodes and edges.
    pub fn book(&self) -> &Arc<PartitionBook> {
        self.topology.config().book()
    }

    /// Number of nodes that the partition owns.
    pub fn num_inner_nodes(&self) -> u64 {
        length(&self.book().node_range(self.part()))
    }

    /// Number of foreign nodes in the file.
    pub fn num_halo_nodes(&self) -> u64 {
        self.topology.graph().num_nodes - self.num_inner_nodes()
    }

    /// Global ids of the halo nodes, in file order; they take 8 bytes a node.
    ///
    /// # Errors
    /// If the ids cannot be read.
    pub fn halo_nodes(&self) -> Result<Vec<u64>> {
        Ok(self.topology.nodes()?.into_halo())
    }

    /// Number of edges that the partition owns: all edges into inner nodes.
    pub fn num_inner_edges(&self) -> u64 {
        length(&self.book().edge_range(self.part()))
    }

    /// Number of edges in the file that the partition does not own. They are never read.
    pub fn num_halo_edges(&self) -> u64 {
        self.topology.graph().num_edges - self.num_inner_edges()
    }

    /// The inner edges, in blocks of at most `max` edges, in the order of the file: by local edge if it has COO,
    /// otherwise by destination. Sort by edge id for an order that is independent of the file. Each call starts from
    /// the beginning.
    ///
    /// # Errors
    /// If the ids of nodes or edges cannot be read or contradict the JSON file.
    pub fn edges(&self, max: usize) -> Result<EdgeReader> {
        self.topology.edges(max)
    }

    /// Passes every inner edge to `visit`, in the order of [`edges`](Self::edges).
    ///
    /// # Errors
    /// If the edges cannot be read or contradict themselves or the JSON file, or `visit` fails.
    pub fn each_edge(&self, mut visit: impl FnMut(InnerEdge) -> Result<()>) -> Result<()> {
        let (mut edges, mut block) = (self.edges(BLOCK)?, Vec::new());
        while edges.next_block(&mut block)? {
            block.iter().try_for_each(|edge| visit(*edge))?;
        }
        Ok(())
    }

    /// Whether edges have the ids of the partition book. If not (GraphBolt without `store_eids`), they are numbered in
    /// file order, and edge features cannot be used.
    pub fn has_edge_ids(&self) -> bool {
        self.topology.graph().edges.id.is_some()
    }

    /// Features of inner nodes.
    pub fn node_features(&self) -> &FeatureSet {
        &self.node_features
    }

    /// Features of inner edges.
    pub fn edge_features(&self) -> &FeatureSet {
        &self.edge_features
    }

    /// Notes for the user on how this partition was interpreted.
    pub fn notes(&self) -> &[String] {
        self.topology.notes()
    }

    /// Original type-wise ids of the inner nodes of a type, if a file has them: one that the user [has
    /// passed](PartitionConfig::with_original_ids), `orig_nids.dgl` (the pipeline), an `orig_id` column (DGL up to
    /// 0.9), the ids themselves (`reshuffle=False`), or node data `orig_id`.
    ///
    /// # Errors
    /// If the ids cannot be read, or have another number or type.
    pub fn orig_node_ids(&self, ntype: usize) -> Result<Option<OriginalIds>> {
        original_sources::of_nodes(&self.topology, &self.node_features, ntype)
    }

    /// Original type-wise ids of the inner edges of a type, by feature row; see [`Self::orig_node_ids`]. If the file
    /// stores them in another order, they are kept in memory, 8 bytes per edge.
    ///
    /// # Errors
    /// If the ids cannot be read, or have another number or type.
    pub fn orig_edge_ids(&self, etype: usize) -> Result<Option<OriginalIds>> {
        original_sources::of_edges(&self.topology, etype)
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }
}

/// Reads the headers of the features of a partition's nodes and edges.
pub(crate) fn open_features(
    config: &PartitionConfig,
    part: usize,
    graph: &LocalGraph,
) -> Result<(FeatureSet, FeatureSet)> {
    Ok((open_node_features(config, part)?, edge_features(config, part, graph)?))
}

/// Reads the headers of the features of a partition's edges.
///
/// # Errors
/// If the partition does not exist, or a file cannot be read or has another format (`Input`).
pub fn open_edge_features(config: &PartitionConfig, part: usize) -> Result<FeatureSet> {
    edge_features(config, part, &open_structure(config, part)?.0)
}

fn edge_features(config: &PartitionConfig, part: usize, graph: &LocalGraph) -> Result<FeatureSet> {
    let (book, files) = (config.book(), &config.parts()[part]);
    let without_ids = graph.edges.id.is_none().then(|| graph.path.clone());
    FeatureSet::open(&files.edge_feats, &edge_type_rows(book, part), without_ids)
}

/// Reads the headers of the features of a partition's nodes.
///
/// # Errors
/// If the partition does not exist, or the file cannot be read or has another format (`Input`).
pub fn open_node_features(config: &PartitionConfig, part: usize) -> Result<FeatureSet> {
    let (book, files) = (config.book(), &config.parts()[part]);
    let types = book.ntypes().iter().enumerate();
    let types = types.map(|(ntype, name)| TypeRows {
        prefixes: vec![name.clone()],
        rows: length(&book.node_type_range(part, ntype)),
    });
    FeatureSet::open(&files.node_feats, &types.collect::<Vec<_>>(), None)
}

/// Prefixes of edge feature keys: the canonical name since DGL 1.0, the relation before.
fn edge_type_rows(book: &PartitionBook, part: usize) -> Vec<TypeRows> {
    let types = book.etypes().iter().enumerate();
    let types = types.map(|(etype, name)| {
        let mut prefixes = vec![name.to_string()];
        if book.etypes().iter().filter(|other| other.rel == name.rel).count() == 1 {
            prefixes.push(name.rel.clone());
        }
        TypeRows { prefixes, rows: length(&book.edge_type_range(part, etype)) }
    });
    types.collect()
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}
