//! A partition's edges as shards per relation.

use super::shards::{EdgeData, Shards, length};
use crate::formats::dgl::Partition;
use crate::words::error::{Error, Result};

/// Reads the inner edges of a partition, by edge type. Sources and destinations are numbered within their node types,
/// from 0 in each partition; ids, if requested, are those within the edge type. Types of edges are not stored, because
/// all edges of a relation have the same.
///
/// # Errors
/// If the edges or weights cannot be read, or a partition has more than 2^32 nodes or edges of one source rank.
pub fn load_relations(partition: &Partition, columns: EdgeData<'_>) -> Result<Vec<Shards>> {
    let (book, own) = (partition.book(), partition.part());
    let before =
        |etype| (0..own).map(|part| length(&book.edge_type_range(part, etype)) as u64).sum();
    let first_ids: Vec<u64> = (0..book.etypes().len()).map(before).collect();
    let graphs = book.etype_ends().iter().map(|ends| {
        let nodes = |part| ends.map(|ntype| book.node_type_range(part, ntype));
        (0..book.num_parts()).map(nodes).collect()
    });
    let columns = EdgeData { types: false, ..columns };
    columns.read(partition, graphs.collect(), Some, &first_ids, |etype, _, _| {
        let edge_type = &book.etypes()[etype];
        let problem = format!("an edge of type {edge_type} ends at a node of another");
        Error::config("partition", problem).with_hint("partition the graph again")
    })
}
