//! A partition's edges as shards per relation.

use super::shards::{EdgeData, Shards, edge_columns, length};
use crate::error::{Error, Result};
use crate::formats::dgl::{InnerEdge, Partition};
use crate::graph::ShardBuilder;

/// Reads the inner edges of a partition, by edge type. Sources and destinations are numbered within their node types,
/// from 0 in each partition; ids, if requested, are those within the edge type. Types of edges are not stored, because
/// all edges of a relation have the same.
///
/// # Errors
/// If the edges or weights cannot be read, or a partition has more than 2^32 nodes or edges of one source rank.
pub fn load_relations(partition: &Partition, columns: EdgeData<'_>) -> Result<Vec<Shards>> {
    let (book, own) = (partition.book(), partition.part());
    let parts = book.num_parts();
    let ends = book.etype_ends();
    let weights = columns.weight.map(|key| edge_columns(partition, key)).transpose()?;
    let before =
        |etype| (0..own).map(|part| length(&book.edge_type_range(part, etype)) as u64).sum();
    let first_ids: Vec<u64> = (0..ends.len()).map(before).collect();
    let mut builders: Vec<Vec<ShardBuilder>> =
        ends.iter().map(|_| (0..parts).map(|_| ShardBuilder::default()).collect()).collect();
    let first_edge = book.edge_range(own).start;
    partition.each_edge(|InnerEdge { src, dst, etype, row, id }| {
        if !columns.has(id - first_edge) {
            return Ok(());
        }
        let [src_type, dst_type] = ends[etype];
        let owner = book.owner(src)?;
        let place = |node: u64, part: usize, ntype: usize| {
            let place = node.checked_sub(book.node_type_range(part, ntype).start);
            place.and_then(|place| u32::try_from(place).ok()).ok_or_else(|| {
                let edge_type = &book.etypes()[etype];
                let problem = format!("an edge of type {edge_type} ends at a node of another");
                Error::config("partition", problem).with_hint("partition the graph again")
            })
        };
        let (src, dst) = (place(src, owner, src_type)?, place(dst, own, dst_type)?);
        builders[etype][owner].push(src, dst);
        if let Some(weights) = &weights {
            builders[etype][owner].push_weight(weights[etype][row as usize]);
        }
        if columns.ids {
            builders[etype][owner].push_edge_id(first_ids[etype] + row);
        }
        Ok(())
    })?;
    let relations = builders.into_iter().zip(ends).map(|(builders, [src_type, dst_type])| {
        let of_type = |ntype| move |part| length(&book.node_type_range(part, ntype));
        Shards::build(builders, own, of_type(*dst_type), of_type(*src_type))
    });
    relations.collect()
}
