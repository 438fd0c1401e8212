//! The statistics of a whole graph.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::columns::{ClassCounts, ColumnPurpose, MaskSize, ValueCounts};
use super::degrees::{DegreeCounts, Degrees};
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{FeatureSet, InnerEdge, Partition};
use crate::graph::Bitmap;
use crate::platform::signals;
use crate::prepare::import::read_class_names;
use crate::prepare::partition::{PartitionReport, PartitionSize};
use crate::words::error::Result;

/// Number of edges read at a time.
const EDGES: usize = 1 << 16;

/// Statistics of a partitioned graph. Takes a bit of memory per node of the graph, and a few bytes per node and foreign
/// source of the largest partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphStatistics {
    /// Number of nodes by type.
    pub nodes: BTreeMap<String, u64>,
    /// Number of edges by type.
    pub edges: BTreeMap<String, u64>,
    /// Number of partitions.
    pub partitions: usize,
    /// In-degrees, over all edge types.
    pub degrees: Degrees,
    /// Number of edges that cross partitions.
    pub cut_edges: u64,
    /// Nodes of all partitions, including halo nodes, per node of the graph.
    pub replication: f64,
    /// Size of the largest partition in multiples of the mean: nodes, and edges.
    pub balance: [f64; 2],
    /// Number of nodes of each class, by key of the labels.
    pub classes: BTreeMap<String, ClassCounts>,
    /// Names of the classes, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class_names: Vec<String>,
    /// Sizes of masks, by key.
    pub masks: BTreeMap<String, MaskSize>,
    /// Values of floating-point data, by key.
    pub values: BTreeMap<String, ValueCounts>,
    /// Approximate bytes of a resident worker for the largest partition, by width of hidden layers.
    pub training_bytes: BTreeMap<u64, u64>,
}

/// Widths of hidden layers in the memory estimate.
const HIDDEN: [u64; 3] = [16, 64, 256];

/// Reads the graph and computes its statistics.
///
/// # Errors
/// If a file cannot be read or contradicts another, or the command is interrupted.
pub fn graph_statistics(config: &PartitionConfig) -> Result<GraphStatistics> {
    let book = config.book();
    let (mut degrees, mut sizes) = (DegreeCounts::default(), Vec::new());
    let mut has_out_edges = Bitmap::new(book.num_nodes());
    let mut without_in_edges = Bitmap::new(book.num_nodes());
    let mut columns = Columns::default();
    for part in 0..book.num_parts() {
        signals::check()?;
        let partition = Partition::open(config, part)?;
        let own = book.node_range(part);
        let mut in_degrees = vec![0_u32; (own.end - own.start) as usize];
        let (mut cut_edges, mut foreign) = (0, HashSet::new());
        let (mut edges, mut block) = (partition.edges(EDGES)?, Vec::new());
        while edges.next_block(&mut block)? {
            signals::check()?;
            for &InnerEdge { src, dst, .. } in &block {
                in_degrees[(dst - own.start) as usize] += 1;
                has_out_edges.insert(src);
                if !own.contains(&src) {
                    cut_edges += 1;
                    foreign.insert(src);
                }
            }
        }
        for (node, degree) in (own.start..).zip(&in_degrees) {
            degrees.add(u64::from(*degree));
            if *degree == 0 {
                without_in_edges.insert(node);
            }
        }
        let own_edges = book.edge_range(part);
        sizes.push(PartitionSize {
            nodes: own.end - own.start,
            edges: own_edges.end - own_edges.start,
            train_nodes: 0,
            halo_nodes: foreign.len() as u64,
            cut_edges,
        });
        columns.add(partition.node_features())?;
        columns.add_values(partition.edge_features())?;
    }
    let isolated = (0..book.num_nodes())
        .filter(|node| without_in_edges.contains(*node) && !has_out_edges.contains(*node));
    let report = PartitionReport { sizes, feature_values: columns.widest };
    let names = book.ntypes().iter().enumerate();
    let nodes = names.map(|(ty, name)| (name.clone(), book.num_nodes_of_type(ty))).collect();
    let names = book.etypes().iter().enumerate();
    let edges = names.map(|(ty, name)| (name.to_string(), book.num_edges_of_type(ty))).collect();
    Ok(GraphStatistics {
        nodes,
        edges,
        partitions: book.num_parts(),
        degrees: degrees.finish(isolated.count() as u64),
        cut_edges: report.cut_edges(),
        replication: report.replication(),
        balance: [report.balance(|size| size.nodes), report.balance(|size| size.edges)],
        classes: columns.classes,
        class_names: read_class_names(config.folder())?,
        masks: columns.masks,
        values: columns.values,
        training_bytes: HIDDEN.map(|hidden| (hidden, report.training_memory(hidden).1)).into(),
    })
}

/// Counts of node and edge data over the partitions so far.
#[derive(Default)]
struct Columns {
    classes: BTreeMap<String, ClassCounts>,
    masks: BTreeMap<String, MaskSize>,
    values: BTreeMap<String, ValueCounts>,
    /// Number of values per row of the widest floating-point node data, most likely the features.
    widest: u64,
}

impl Columns {
    fn add(&mut self, set: &FeatureSet) -> Result<()> {
        for feature in set.features() {
            let (key, array) = (feature.key().to_owned(), feature.array());
            match ColumnPurpose::of(feature) {
                ColumnPurpose::Labels => self.classes.entry(key).or_default().add(array)?,
                ColumnPurpose::Mask => self.masks.entry(key).or_default().add(array)?,
                ColumnPurpose::Values => {
                    self.widest = self.widest.max(array.row_len());
                    self.values.entry(key).or_default().add(array)?;
                }
                ColumnPurpose::Nothing => {}
            }
        }
        Ok(())
    }

    /// Counts edge data, where labels and masks are ordinary values.
    fn add_values(&mut self, set: &FeatureSet) -> Result<()> {
        for feature in set.features().iter().filter(|f| !f.array().dtype().is_integer()) {
            self.values.entry(feature.key().to_owned()).or_default().add(feature.array())?;
        }
        Ok(())
    }
}
