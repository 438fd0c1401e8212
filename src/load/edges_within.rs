//! The edges between nodes of one type, as shards.

use super::shards::{EdgeData, Shards};
use crate::formats::dgl::Partition;
use crate::graph::PartitionBook;
use crate::words::error::{Error, Result};

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
    let book = partition.book();
    let etypes = etypes_within(book, ntype);
    let nodes = |part| [book.node_type_range(part, ntype), book.node_type_range(part, ntype)];
    let graph = (0..book.num_parts()).map(nodes).collect();
    let graph_of = |etype| etypes.contains(&etype).then_some(0);
    let read = EdgeData::default().read(partition, vec![graph], graph_of, &[], |_, node, part| {
        let problem = format!(
            "partition {} has an edge between nodes of type {} that ends at node {node} of partition {part}, which is of \
             another type or beyond 2^32 nodes",
            partition.part(),
            book.ntypes()[ntype]
        );
        Error::config("partition", problem).with_hint("partition the graph again")
    });
    Ok(read?.remove(0))
}
