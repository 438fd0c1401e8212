//! The nodes or edges to which the rows of a distributed tensor belong.

use std::ops::Range;

use crate::graph::PartitionBook;
use crate::words::error::{Error, Result};

/// The nodes or the edges of one type: rows are numbered by type-wise ids, so that each partition's rows lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionPolicy {
    /// Nodes of a type, by id.
    Nodes(usize),
    /// Edges of a type, by id.
    Edges(usize),
}

impl PartitionPolicy {
    /// The nodes of a type, by name: DGL's `get_node_partition_policy`.
    ///
    /// # Errors
    /// If the type does not exist (`Config`).
    pub fn nodes(book: &PartitionBook, ntype: &str) -> Result<Self> {
        Ok(PartitionPolicy::Nodes(book.get_ntype_id(ntype)?))
    }

    /// The edges of a type, by name: DGL's `get_edge_partition_policy`.
    ///
    /// # Errors
    /// If the type does not exist (`Config`).
    pub fn edges(book: &PartitionBook, etype: &str) -> Result<Self> {
        Ok(PartitionPolicy::Edges(book.get_etype_id(etype)?))
    }

    /// The only type of nodes or edges with `rows` members.
    ///
    /// # Errors
    /// If no type matches, or several do.
    pub fn infer(book: &PartitionBook, rows: u64) -> Result<Self> {
        let nodes = (0..book.ntypes().len()).map(PartitionPolicy::Nodes);
        let edges = (0..book.etypes().len()).map(PartitionPolicy::Edges);
        let fitting: Vec<Self> = nodes.chain(edges).filter(|p| p.num_rows(book) == rows).collect();
        let problem = match fitting[..] {
            [policy] => return Ok(policy),
            [] => format!("no type of nodes or edges has {rows}"),
            _ => format!("several types of nodes or edges have {rows}"),
        };
        Err(Error::config("partition policy", problem).with_hint("name the type"))
    }

    /// Number of rows in all partitions.
    pub fn num_rows(self, book: &PartitionBook) -> u64 {
        match self {
            PartitionPolicy::Nodes(ntype) => book.num_nodes_of_type(ntype),
            PartitionPolicy::Edges(etype) => book.num_edges_of_type(etype),
        }
    }

    /// The rows of a partition.
    pub fn rows_of(self, book: &PartitionBook, part: usize) -> Range<u64> {
        match self {
            PartitionPolicy::Nodes(ntype) => book.typewise_nodes(part, ntype),
            PartitionPolicy::Edges(etype) => book.typewise_edges(part, etype),
        }
    }
}
