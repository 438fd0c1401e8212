//! A partition's edges as shards per relation.

use super::shards::{BLOCK, EdgeData, Shards, edge_columns, length};
use crate::error::{Error, Result};
use crate::formats::dgl::{EdgeBlock, Partition};
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
    let ends = book.etypes().iter().map(|etype| {
        let known = |name: &str| {
            let unknown = || Error::internal(format!("edge type {etype} joins unknown node types"));
            book.ntype_id(name).ok_or_else(unknown)
        };
        Ok((known(&etype.src)?, known(&etype.dst)?))
    });
    let ends = ends.collect::<Result<Vec<_>>>()?;
    let weights = columns.weight.map(|key| edge_columns(partition, key)).transpose()?;
    let before =
        |etype| (0..own).map(|part| length(&book.edge_type_range(part, etype)) as u64).sum();
    let first_ids: Vec<u64> = (0..ends.len()).map(before).collect();
    let mut builders: Vec<Vec<ShardBuilder>> =
        ends.iter().map(|_| (0..parts).map(|_| ShardBuilder::default()).collect()).collect();
    let first = book.node_range(own).start;
    let first_edge = book.edge_range(own).start;
    let mut edges = partition.edges(BLOCK)?;
    let mut block = EdgeBlock::default();
    while edges.next_block(&mut block)? {
        for i in (0..block.len()).filter(|i| columns.has(block.id[*i] - first_edge)) {
            let (src, dst, etype) = (block.src[i], first + block.dst[i], block.etype[i] as usize);
            let (src_type, dst_type) = ends[etype];
            let owner = book.part_of_node(src);
            let owner = owner
                .ok_or_else(|| Error::internal(format!("node {src} belongs to no partition")))?;
            let row = |node: u64, part: usize, ntype: usize| {
                let row = node.checked_sub(book.node_type_range(part, ntype).start);
                row.and_then(|row| u32::try_from(row).ok()).ok_or_else(|| {
                    let edge_type = &book.etypes()[etype];
                    let problem = format!("an edge of type {edge_type} ends at a node of another");
                    Error::config("partition", problem).with_hint("partition the graph again")
                })
            };
            let (src, dst) = (row(src, owner, src_type)?, row(dst, own, dst_type)?);
            builders[etype][owner].push(src, dst);
            if let Some(weights) = &weights {
                builders[etype][owner].push_weight(weights[etype][block.row[i] as usize]);
            }
            if columns.ids {
                builders[etype][owner].push_edge_id(first_ids[etype] + block.row[i]);
            }
        }
    }
    let relations = builders.into_iter().zip(ends).map(|(builders, (src_type, dst_type))| {
        let num_dst = length(&book.node_type_range(own, dst_type));
        let built = builders.into_iter().enumerate().map(|(source, builder)| {
            let num_src = length(&book.node_type_range(source, src_type));
            builder.build(num_dst, num_src, source == own)
        });
        let (shards, sources) = built.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok(Shards { shards, sources })
    });
    relations.collect()
}
