//! Subgraphs with the edges into selected destinations.

use tch::Tensor;

use super::exchange::Exchange;
use super::graph::{Ends, Graph, unknown_degrees};
use super::graph_shard_manager::{GraphShardManager, of_a_relation};
use super::requests::{Requests, exchange_requests};
use crate::engine::spill::{PointerTensor, ShardPointer};
use crate::engine::tensor;
use crate::words::error::Result;

/// Selected destinations.
pub(super) struct TakenDestinations<'r> {
    /// Own rows, ascending.
    pub(super) rows: &'r [u32],
    /// The rows among `rows` that keep their edges, ascending.
    pub(super) with_edges: &'r [u32],
}

impl<'r> TakenDestinations<'r> {
    /// Selects rows that all keep their edges.
    pub(super) fn all(rows: &'r [u32]) -> Self {
        TakenDestinations { rows, with_edges: rows }
    }

    /// New number of each of `num_rows` rows; `u32::MAX` for rows without edges.
    fn numbers(&self, num_rows: usize) -> Vec<u32> {
        let mut all = numbers(self.rows, num_rows);
        if self.with_edges.len() < self.rows.len() {
            let kept = numbers(self.with_edges, num_rows);
            let pairs = all.iter_mut().zip(kept);
            pairs.filter(|(_, kept)| *kept == u32::MAX).for_each(|(number, _)| *number = u32::MAX);
        }
        all
    }
}

/// Edges into selected destinations, with sources numbered as in the full graph.
pub(super) struct EdgesInto {
    /// Shards by source rank, with a column per source.
    shards: Vec<ShardPointer>,
    /// For each rank, the rows that the columns of its shard stand for.
    sources: Vec<Vec<u32>>,
    /// For each rank (including this one), the own rows from which it has edges.
    requested: Vec<Vec<u32>>,
    row_of: Vec<u32>,
    num_destinations: usize,
}

impl EdgesInto {
    /// Selects the edges into `destinations`. One collective.
    pub(super) fn new(
        full: &GraphShardManager,
        destinations: &TakenDestinations<'_>,
    ) -> Result<Self> {
        let Exchange { manager, group } = &full.exchange;
        let row_of = destinations.numbers(full.num_destinations());
        let num_destinations = destinations.rows.len();
        let mut shards = Vec::new();
        let mut sources = Vec::new();
        for (shard, rows) in full.shards.iter().zip(&full.sources) {
            let rows = rows.pin()?;
            let edges = shard.by_dst()?.edges_into(&row_of, |column| column);
            let (shard, columns) = edges.build(num_destinations, shard.num_sources(), false)?;
            // In the own shard, columns are rows.
            let row = |column: u32| rows.get(column as usize).copied().unwrap_or(column);
            shards.push(manager.track_shard("shard", shard));
            sources.push(columns.into_iter().map(row).collect::<Vec<u32>>());
        }
        let Requests { rows: requested, .. } =
            exchange_requests(manager, group, &shards, &sources, full.num_sources())?;
        Ok(EdgesInto { shards, sources, requested, row_of, num_destinations })
    }

    /// Own rows that are sources of edges on any rank; a row may occur several times.
    pub(super) fn needed(&self) -> impl Iterator<Item = u32> + '_ {
        self.requested.iter().flatten().copied()
    }

    /// The graph of the edges, with own sources `own_sources` (ascending). `kind` describes its ends.
    pub(super) fn into_graph(
        mut self,
        full: &GraphShardManager,
        destinations: &[u32],
        own_sources: &[u32],
        kind: EndKind,
    ) -> Result<GraphShardManager> {
        let Exchange { manager, group } = &full.exchange;
        let source_of = numbers(own_sources, full.num_sources());
        let renumbered = |rows: &[u32]| -> Vec<u32> {
            rows.iter().map(|row| source_of[*row as usize]).collect()
        };
        let rank = group.rank();
        let edges = full.local_shard().by_dst()?;
        let edges = edges.edges_into(&self.row_of, |row| source_of[row as usize]);
        let (local, _) = edges.build(self.num_destinations, own_sources.len(), true)?;
        self.shards[rank] = manager.track_shard("shard", local);
        self.sources[rank] = Vec::new();

        let track = |rows: Vec<u32>| manager.track("requested-rows", rows);
        let pick = |values: &PointerTensor, rows: &[u32]| pick(full, values, rows);
        let among_sources = kind != EndKind::RelationBetweenTypes && own_sources != destinations;
        let source_in_degrees = match kind {
            EndKind::OneType => pick(full.in_degrees(), own_sources)?,
            _ => unknown_degrees(manager, own_sources.len() as i64, of_a_relation),
        };
        let ends = Ends {
            source_ids: pick(full.source_ids(), own_sources)?,
            destination_ids: pick(full.destination_ids(), destinations)?,
            destination_rows: among_sources.then(|| track(renumbered(destinations))),
            in_degrees: pick(full.in_degrees(), destinations)?,
            source_in_degrees,
            out_degrees: pick(full.out_degrees(), own_sources)?,
        };
        let mut graph = GraphShardManager {
            exchange: full.exchange.clone(),
            shards: self.shards,
            sources: self.sources.into_iter().map(track).collect(),
            requested: self.requested.iter().map(|rows| track(renumbered(rows))).collect(),
            ends,
            edge_source: None,
            edge_inputs: None,
            covered: None,
            sums: Vec::new(),
        };
        if let Some(source) = &full.edge_source {
            graph.set_edge_source(source.clone());
        }
        Ok(graph)
    }
}

/// Kind of a graph's sources and destinations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndKind {
    /// Nodes of one type, with sources and destinations equal on the full graph.
    OneType,
    /// Nodes of one of several types, with sources and destinations equal on the full graph.
    RelationInType,
    /// Nodes of two types.
    RelationBetweenTypes,
}

/// Selects rows of a value that has one number per row.
pub(super) fn pick(
    full: &GraphShardManager,
    values: &PointerTensor,
    rows: &[u32],
) -> Result<PointerTensor> {
    let values = values.pin()?;
    let values = tensor::slice::<i64>(&values);
    let picked: Vec<i64> = rows.iter().map(|row| values[*row as usize]).collect();
    Ok(full.exchange.manager.track("node-ids", Tensor::f_from_slice(&picked)?))
}

/// Distinct rows, ascending.
pub(super) fn union(rows: impl Iterator<Item = u32>, num_rows: usize) -> Vec<u32> {
    let mut needed = vec![false; num_rows];
    rows.for_each(|row| needed[row as usize] = true);
    needed.iter().zip(0..).filter(|(needed, _)| **needed).map(|(_, row)| row).collect()
}

/// Index of each row in a list; `u32::MAX` if it is not in the list.
fn numbers(rows: &[u32], num_rows: usize) -> Vec<u32> {
    let mut numbers = vec![u32::MAX; num_rows];
    for (number, row) in rows.iter().enumerate() {
        numbers[*row as usize] = number as u32;
    }
    numbers
}
