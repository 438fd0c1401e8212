//! Size of a graph that has not been cut into partitions.

use serde::{Deserialize, Serialize};

use super::counts::{Pair, RankCounts, hit};
use super::graph_sizes::{FeatureColumns, GraphSizes};
use crate::io::Dtype;
use crate::load::{FEATURE_NAMES, LABEL_NAMES, filled, is_little};
use crate::nn::Task;
use crate::prepare::generate::GeneratorConfig;
use crate::prepare::import::{NodeType, RawGraph, Table};
use crate::run::config::RunConfig;
use crate::words::error::Result;

/// Number of classes of a graph whose labels do not show it.
const LEAST_OUTPUTS: u64 = 2;

/// Numbers of an uncut graph that determine the memory of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphShape {
    pub(super) nodes: u64,
    pub(super) edges: u64,
    edge_types: usize,
    /// Number of columns of the widest node features of any type.
    width: u64,
    /// Fraction of values of the features that are not zero, if they are few and all nodes have one type.
    filled: Option<f64>,
    /// Number of columns of the widest edge features, if the run uses edge features.
    edge_width: Option<u64>,
    /// Number of classes, or of columns of the labels.
    outputs: u64,
    /// Fraction of nodes in the training, validation and test masks that exist.
    masks: [Option<f64>; 3],
}

impl GraphShape {
    /// The shape of a graph with `edges` edges for `run`. Reads labels, masks and some rows of features.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn of_graph(graph: &RawGraph, edges: u64, run: &RunConfig) -> Result<Self> {
        let keys = &run.keys;
        let nodes = graph.num_nodes();
        let named = |key: Option<&str>, usual: &[&str]| -> Vec<&Table> {
            graph.ntypes.iter().filter_map(|ntype| find(ntype, key, usual)).collect()
        };
        let features = named(keys.features.as_deref(), &FEATURE_NAMES);
        let widths = features.iter().map(|table| table.row_shape().iter().product::<u64>());
        // Nodes without features have learned rows.
        let learned = if features.len() < graph.ntypes.len() { run.model.hidden as u64 } else { 0 };
        let mut outputs = graph.class_names.values().map(Vec::len).max().unwrap_or(0) as u64;
        for labels in named(keys.labels.as_deref(), &LABEL_NAMES) {
            outputs = outputs.max(match run.task {
                Task::Classification if labels.row_shape().is_empty() => classes(labels)?,
                _ => labels.row_shape().iter().product(),
            });
        }
        let mut masks = [None; 3];
        for (share, (name, key)) in masks.iter_mut().zip(keys.masks()) {
            let tables = named(key, &[name]);
            if !tables.is_empty() {
                let ones = tables.into_iter().map(ones).sum::<Result<u64>>()?;
                *share = Some(ones as f64 / nodes.max(1) as f64);
            }
        }
        // A graph without labels gets labels before it is used for training.
        masks[0] = masks[0].or(Some(1.0));
        Ok(GraphShape {
            nodes,
            edges,
            edge_types: graph.etypes.len(),
            width: widths.max().unwrap_or(0).max(learned),
            filled: match (&features[..], &graph.ntypes[..]) {
                ([features], [_]) => Some(filled(features.arrays())?).filter(|f| is_little(*f)),
                _ => None,
            },
            edge_width: keys.edge_features.as_deref().map(|key| edge_width(graph, key)),
            outputs: outputs.max(LEAST_OUTPUTS),
            masks,
        })
    }

    /// The shape of a graph that will be generated.
    pub fn of_generated(config: &GeneratorConfig) -> Self {
        GraphShape {
            nodes: config.nodes,
            edges: config.edges,
            edge_types: 1,
            width: config.features,
            filled: None,
            edge_width: None,
            outputs: config.classes,
            masks: [config.split.train, config.split.val, config.split.test].map(Some),
        }
    }

    /// Sizes of the graph in `parts` partitions with random assignment of nodes; a cut that takes edges into account
    /// has fewer foreign rows.
    pub(super) fn cut(&self, parts: u64) -> GraphSizes {
        let nodes = self.nodes.div_ceil(parts);
        let edges = self.edges.div_ceil(parts * parts);
        let ends = hit(nodes, edges).max(u64::from(edges > 0));
        let pair = Pair { edges, sources: ends, destinations: ends };
        let rank = RankCounts { nodes, pairs: vec![pair; parts as usize] };
        GraphSizes {
            ranks: vec![rank; parts as usize],
            // Features are computed in single precision, whatever their stored type.
            features: FeatureColumns { width: self.width, dtype: Dtype::F32 },
            filled: self.filled,
            edge_features: self.edge_width.map(|width| FeatureColumns { width, dtype: Dtype::F32 }),
            outputs: self.outputs,
            masks: self.masks,
            edge_types: self.edge_types,
            sampled: true,
        }
    }
}

/// The table of a node type that a key selects; without a key, the table with a usual name.
fn find<'g>(ntype: &'g NodeType, key: Option<&str>, usual: &[&str]) -> Option<&'g Table> {
    let is_named = |name: &str| match key {
        Some(key) => !key.is_empty() && format!("{}/{name}", ntype.name).ends_with(key),
        None => usual.contains(&name),
    };
    ntype.data.iter().find(|(name, _)| is_named(name)).map(|(_, table)| table)
}

fn edge_width(graph: &RawGraph, key: &str) -> u64 {
    let is_named = |name: &str| !key.is_empty() && format!("/{name}").ends_with(key);
    let tables = graph.etypes.iter().flat_map(|etype| &etype.data);
    let tables = tables.filter(|(name, _)| is_named(name) || key.ends_with(&format!("/{name}")));
    tables.map(|(_, table)| table.row_shape().iter().product()).max().unwrap_or(1)
}

fn classes(labels: &Table) -> Result<u64> {
    let mut highest = -1;
    labels.each_i64(|_, label| {
        highest = highest.max(label);
        Ok(())
    })?;
    Ok((highest + 1).max(0) as u64)
}

fn ones(mask: &Table) -> Result<u64> {
    let mut ones = 0;
    mask.members(|_| ones += 1)?;
    Ok(ones)
}
