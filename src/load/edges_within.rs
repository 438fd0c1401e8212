//! The edges between nodes of one type, as shards.

use super::shards::{Shards, length};
use crate::error::{Error, Result};
use crate::formats::dgl::{InnerEdge, Partition};
use crate::graph::{PartitionBook, ShardBuilder};

/// The edge types that have this node type at both ends.
pub fn etypes_within(book: &PartitionBook, ntype: usize) -> Vec<usize> {
    let etypes = book.etype_ends().iter().enumerate();
    etypes.filter(|(_, ends)| **ends == [ntype; 2]).map(|(etype, _)| etype).collect()
}

/// Reads the edges between nodes of one type into a partition's nodes, of any edge type: the edges of DGL's
/// `to_homogeneous` of that node type's sub-graph. Nodes are numbered within the type, from 0 in each partition.
///
/// # Errors
/// If the edges cannot be read, end at nodes of another type, or a partition has more than 2^32 nodes of the type.
pub fn load_edges_within(partition: &Partition, ntype: usize) -> Result<Shards> {
    let (book, own) = (partition.book(), partition.part());
    let etypes = etypes_within(book, ntype);
    let row = |node: u64, part: usize| {
        let nodes = book.node_type_range(part, ntype);
        let row = nodes.contains(&node).then(|| node - nodes.start);
        row.and_then(|row| u32::try_from(row).ok()).ok_or_else(|| {
            let problem = format!(
                "partition {own} has an edge between nodes of type {} that ends at node {node} of partition {part}, \
                 which is of another type or beyond 2^32 nodes",
                book.ntypes()[ntype]
            );
            Error::config("partition", problem).with_hint("partition the graph again")
        })
    };
    let mut builders: Vec<_> = (0..book.num_parts()).map(|_| ShardBuilder::default()).collect();
    partition.each_edge(|InnerEdge { src, dst, etype, .. }| {
        if etypes.contains(&etype) {
            let owner = book.owner(src)?;
            builders[owner].push(row(src, owner)?, row(dst, own)?);
        }
        Ok(())
    })?;
    let num_nodes = |part| length(&book.node_type_range(part, ntype));
    Shards::build(builders, own, num_nodes, num_nodes)
}
