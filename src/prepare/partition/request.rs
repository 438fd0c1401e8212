//! Parameters of partitioning.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::formats::dgl::writer::check_graph_name;
use crate::words::choice::choices;
use crate::words::error::{Error, Result};

choices! {
    /// How nodes are assigned to partitions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Method {
        /// Clusters found by label propagation over the edges on disk, METIS on the clusters, refinement over the edges
        /// on disk: few cut edges, for graphs of any size
        @default Stream = "stream",
        /// METIS on the whole graph, which has to fit in memory
        Metis = "metis",
        /// Any node anywhere
        Random = "random",
        /// Consecutive nodes
        Range = "range",
        /// The partitions that files list
        File = "file",
    }
}

choices! {
    /// Treatment of edges from a node to itself.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SelfLoops {
        /// Keep self loops
        @default Keep = "keep": "They stay",
        /// Remove self loops
        Remove = "remove": "They are removed",
        /// Give every node exactly one self loop, in place of those that exist
        Add = "add": "Every node has exactly one: those that are there are replaced",
    }
}

choices! {
    /// Order of the nodes of a type within a partition.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LocalOrder {
        /// The order of the input
        @default Input = "input",
        /// Communities of nodes with many edges between them, found as in `stream`, one after the other
        Community = "community",
    }
}

/// Changes to the edges read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeRules {
    /// Every edge also gets its reverse: DGL's `add_reverse_edges` with copied edge data. Self loops are not doubled.
    pub undirected: bool,
    /// Every relation `x` between different node types also gets a relation `rev_x`, and all other edges get their reverses:
    /// DGL's `AddReverse`.
    pub reverse_relations: bool,
    /// Treatment of self loops.
    pub self_loops: SelfLoops,
    /// Only the first of several edges with the same ends stays.
    pub dedup: bool,
}

/// The parameters of partitioning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRequest {
    /// The graph's name, which also names the JSON file.
    pub name: String,
    /// Number of partitions, from 1 to 65535.
    pub num_parts: usize,
    /// How nodes are assigned to partitions.
    pub method: Method,
    /// For [`Method::File`]: files with the partition of each node of a type, one per line.
    pub assignment: Vec<(String, PathBuf)>,
    /// Node data whose values are classes; every partition gets an equal share of each class, as with DGL's
    /// `balance_ntypes`. The nodes of each type are balanced in any case.
    pub balance_ntypes: Option<String>,
    /// Order of nodes within a partition.
    pub node_order: LocalOrder,
    /// Changes to the edges.
    pub rules: EdgeRules,
    /// Memory in bytes that the process may take.
    pub memory: u64,
    /// Seed of random choices.
    pub seed: u64,
}

/// Largest number of partitions: a node has 16 bits for its partition.
pub(in crate::prepare) const MAX_PARTS: usize = 65_535;

/// Checks that a graph can be cut into this number of partitions, if it has enough nodes.
///
/// # Errors
/// If it cannot; the error names the range.
pub fn check_num_parts(num_parts: usize) -> Result<()> {
    if (1..=MAX_PARTS).contains(&num_parts) {
        return Ok(());
    }
    Err(Error::config("num_parts", format!("is {num_parts}"))
        .with_hint(format!("from 1 to {MAX_PARTS} partitions are possible")))
}

impl PartitionRequest {
    pub(super) fn check(&self) -> Result<()> {
        check_graph_name(&self.name)?;
        if self.balance_ntypes.is_some() && !matches!(self.method, Method::Stream | Method::Metis) {
            let problem = "has an effect only with ‹method=stream› and ‹method=metis›";
            return Err(Error::config("balance_ntypes", problem)
                .with_hint("leave it out, or pass one of them"));
        }
        if (self.method == Method::File) == self.assignment.is_empty() {
            let problem = if self.assignment.is_empty() { "is missing" } else { "is not used" };
            return Err(Error::config("assignment", problem).with_hint(
                "pass ‹method=file› ‹assignment=FILE›, with the partition of each node, one per line",
            ));
        }
        Ok(())
    }
}
