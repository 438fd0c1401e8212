//! A partition's edges as shards, one per rank of sources.

use super::keys::Role;
use crate::error::{Error, Result};
use crate::formats::dgl::{InnerEdge, Partition};
use crate::graph::{GraphShard, ShardBuilder};

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
#[derive(Debug, Clone, Copy, Default)]
pub struct EdgeData<'k> {
    /// Key of the edge weights.
    pub weight: Option<&'k str>,
    /// Whether types of edges are loaded.
    pub types: bool,
    /// Whether ids of edges are loaded, with which [`EdgeFeatures`](super::EdgeFeatures) are read: global ids or, in
    /// the graph of one relation, ids within the edge type.
    pub ids: bool,
    /// Whether each edge of the partition, in the order of ids, is part of the graph; `None` means that all are.
    pub within: Option<&'k [bool]>,
}

impl EdgeData<'_> {
    /// Whether an edge, by its place among those of the partition, is part of the graph.
    pub(super) fn has(&self, place: u64) -> bool {
        self.within.is_none_or(|within| within[place as usize])
    }
}

impl Shards {
    /// Reads the inner edges of a partition.
    ///
    /// # Errors
    /// If the edges or weights cannot be read, a weight is not finite, or a partition has more than 2^32 nodes, or
    /// edges of one source rank.
    pub fn load(partition: &Partition, columns: EdgeData<'_>) -> Result<Self> {
        let book = partition.book();
        let weights = columns.weight.map(|key| edge_columns(partition, key)).transpose()?;
        let etypes = 0..book.etypes().len();
        let first_id = |etype| book.edge_type_range(partition.part(), etype).start;
        let first_ids: Vec<u64> = etypes.map(first_id).collect();
        let mut builders: Vec<_> = (0..book.num_parts()).map(|_| ShardBuilder::default()).collect();
        let starts: Vec<u64> = (0..book.num_parts()).map(|p| book.node_range(p).start).collect();
        let local = |row: u64| {
            u32::try_from(row).map_err(|_| {
                let problem = format!("partition {} has more than 2^32 nodes", partition.part());
                Error::config("partition", problem).with_hint("cut the graph into more partitions")
            })
        };
        let first_edge = book.edge_range(partition.part()).start;
        let own = partition.part();
        partition.each_edge(|InnerEdge { src, dst, etype, row, id }| {
            if !columns.has(id - first_edge) {
                return Ok(());
            }
            let owner = book.owner(src)?;
            builders[owner].push(local(src - starts[owner])?, local(dst - starts[own])?);
            if let Some(weights) = &weights {
                builders[owner].push_weight(weights[etype][row as usize]);
            }
            if columns.types {
                builders[owner].push_type(etype as u16);
            }
            if columns.ids {
                builders[owner].push_edge_id(first_ids[etype] + row);
            }
            Ok(())
        })?;
        let num_nodes = |part| length(&book.node_range(part));
        Shards::build(builders, own, num_nodes, num_nodes)
    }

    /// The shards of a partition from their edges, by source rank. The two functions return the number of a rank's nodes that may
    /// be destinations, and sources.
    pub(super) fn build(
        builders: Vec<ShardBuilder>,
        own: usize,
        destinations: impl Fn(usize) -> usize,
        sources: impl Fn(usize) -> usize,
    ) -> Result<Self> {
        let built = builders.into_iter().enumerate().map(|(source, builder)| {
            builder.build(destinations(own), sources(source), source == own)
        });
        let (shards, sources) = built.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok(Shards { shards, sources })
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
        if feature.array().row_len() != 1 {
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

pub(super) fn length(range: &std::ops::Range<u64>) -> usize {
    (range.end - range.start) as usize
}
