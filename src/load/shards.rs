//! A partition's edges as shards, one per rank of sources.

use std::ops::Range;

use super::keys::Role;
use crate::formats::dgl::{InnerEdge, Partition};
use crate::graph::{GraphShard, ShardBuilder};
use crate::words::error::{Error, Result};

const EDGE_WEIGHT: Role<'_> = Role { what: "edge weights", field: "keys.edge_weight", usual: &[] };

/// Edges into a partition, by the rank of their sources.
pub struct Shards {
    /// Shards by source rank.
    pub shards: Vec<GraphShard>,
    /// By source rank: that rank's rows that the columns of its shard stand for; empty for the partition's own shard,
    /// whose columns are rows.
    pub sources: Vec<Vec<u32>>,
}

/// Data that are loaded for each edge in addition to its ends.
#[derive(Debug, Clone, Default)]
pub struct EdgeData<'k> {
    /// Key of the edge weights.
    pub weight: Option<&'k str>,
    /// Whether types of edges are loaded.
    pub types: bool,
    /// Whether ids of edges are loaded, with which [`EdgeFeatures`](super::EdgeFeatures) are read: global ids or, in
    /// the graph of one relation, ids within the edge type.
    pub ids: bool,
    /// Whether each edge of the partition, in the order of ids, is part of the graph; `None` means that all are.
    pub within: Option<Vec<bool>>,
}

/// The nodes at which the edges of a graph begin, and those at which they end, in one partition.
pub(super) type EndNodes = [Range<u64>; 2];

impl EdgeData<'_> {
    /// Reads a partition's inner edges as the shards of several graphs. `graphs` lists the nodes of each graph by partition;
    /// rows count from the first of them. `graph_of` returns the graph of an edge type, if it has one. `first_ids` are the
    /// ids of the first edges of all types, used if ids are loaded.
    pub(super) fn read(
        self,
        partition: &Partition,
        graphs: Vec<Vec<EndNodes>>,
        graph_of: impl Fn(usize) -> Option<usize>,
        first_ids: &[u64],
        wrong: impl Fn(usize, u64, usize) -> Error,
    ) -> Result<Vec<Shards>> {
        let (book, own) = (partition.book(), partition.part());
        let weights = self.weight.map(|key| edge_columns(partition, key)).transpose()?;
        let builders =
            |ends: &Vec<EndNodes>| ends.iter().map(|_| ShardBuilder::default()).collect();
        let mut builders: Vec<Vec<ShardBuilder>> = graphs.iter().map(builders).collect();
        let first_edge = book.edge_range(own).start;
        let within = self.within.as_ref();
        let has = |id| within.is_none_or(|within| within[(id - first_edge) as usize]);
        partition.each_edge(|InnerEdge { src, dst, etype, row, id }| {
            let Some(graph) = graph_of(etype).filter(|_| has(id)) else { return Ok(()) };
            let owner = book.owner(src)?;
            let row_of = |node: u64, part: usize, end: usize| {
                let nodes = &graphs[graph][part][end];
                let row = nodes.contains(&node).then(|| u32::try_from(node - nodes.start).ok());
                row.flatten().ok_or_else(|| wrong(etype, node, part))
            };
            let builder = &mut builders[graph][owner];
            builder.push(row_of(src, owner, 0)?, row_of(dst, own, 1)?);
            if let Some(weights) = &weights {
                builder.push_weight(weights[etype][row as usize]);
            }
            if self.types {
                builder.push_type(u16::try_from(etype).map_err(|_| {
                    Error::internal(format!("edge {id} is of a type beyond the first 65536"))
                })?);
            }
            if self.ids {
                builder.push_edge_id(first_ids[etype] + row);
            }
            Ok(())
        })?;
        let shards = builders.into_iter().zip(graphs).map(|(builders, ends)| {
            let num_dst = length(&ends[own][1]);
            let built =
                builders.into_iter().zip(&ends).enumerate().map(|(part, (builder, ends))| {
                    builder.build(num_dst, length(&ends[0]), part == own)
                });
            let (shards, sources) = built.collect::<Result<Vec<_>>>()?.into_iter().unzip();
            Ok(Shards { shards, sources })
        });
        shards.collect()
    }
}

impl Shards {
    /// Reads the inner edges of a partition.
    ///
    /// # Errors
    /// If the edges or weights cannot be read, a weight is not finite, or a partition has more than 2^32 nodes, or
    /// edges of one source rank.
    pub fn load(partition: &Partition, columns: EdgeData<'_>) -> Result<Self> {
        let (book, own) = (partition.book(), partition.part());
        let first_id = |etype| book.edge_type_range(own, etype).start;
        let first_ids: Vec<u64> = (0..book.etypes().len()).map(first_id).collect();
        let nodes = |part| [book.node_range(part), book.node_range(part)];
        let graph = (0..book.num_parts()).map(nodes).collect();
        let too_many = |_, _, _| {
            let problem = format!("partition {own} has more than 2^32 nodes");
            Error::config("partition", problem).with_hint("cut the graph into more partitions")
        };
        let read = columns.read(partition, vec![graph], |_| Some(0), &first_ids, too_many);
        Ok(read?.remove(0))
    }
}

/// One column of weights per edge type, in the order of feature rows.
pub(crate) fn edge_columns(partition: &Partition, key: &str) -> Result<Vec<Vec<f32>>> {
    edge_columns_of(partition, key, &|_| true)
}

/// [`edge_columns`] for edge types that are `wanted`; the columns of others are empty.
pub(super) fn edge_columns_of(
    partition: &Partition,
    key: &str,
    wanted: &dyn Fn(usize) -> bool,
) -> Result<Vec<Vec<f32>>> {
    let set = partition.edge_features();
    let book = partition.book();
    let found = EDGE_WEIGHT.require(set, Some(key))?;
    let columns = found.into_iter().enumerate().map(|(etype, feature)| {
        if !wanted(etype) {
            return Ok(Vec::new());
        }
        let rows = length(&book.edge_type_range(partition.part(), etype));
        let Some(feature) = feature else {
            let problem = format!("edge type {} has no such feature", book.etypes()[etype]);
            return Err(Error::input(set.path(), key, problem));
        };
        if rows > 0 && feature.array().row_len() != 1 {
            let problem =
                format!("has shape {:?}; one weight per edge is needed", feature.array().shape());
            return Err(Error::input(set.path(), feature.key(), problem));
        }
        let mut column = vec![0.0; rows];
        feature.array().read_finite_f32(0..rows as u64, &mut column)?;
        Ok(column)
    });
    columns.collect()
}

pub(super) fn length(range: &Range<u64>) -> usize {
    (range.end - range.start) as usize
}
