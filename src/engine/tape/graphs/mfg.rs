//! Message flow graphs: for each layer, only the nodes on which the wanted outputs depend.

use tch::Tensor;

use super::graph::{Ends, Graph};
use super::graph_shard_manager::GraphShardManager;
use super::requests::{Requests, exchange_requests};
use crate::engine::spill::{Pointer, PointerTensor};
use crate::engine::tensor;
use crate::error::Result;

/// Message flow graphs, one per layer.
pub struct Mfgs {
    /// The graphs, beginning with the first layer's.
    pub graphs: Vec<GraphShardManager>,
    /// The own rows, ascending, that are the sources of the first graph.
    pub sources: Pointer<Vec<u32>>,
}

/// Builds one graph per layer, beginning with the first layer's, such that the last one's destinations are the `seeds` (`bool
/// [num_nodes]`): SAR's function of the same name. One collective per layer.
///
/// The graph of a layer holds all in-edges of its destinations, and degrees are those of the full graph, so a model computes
/// the same outputs of the seeds as on the full graph. A layer's sources are the previous layer's destinations.
pub fn construct_mfgs(
    full: &GraphShardManager,
    seeds: &PointerTensor,
    layers: usize,
) -> Result<Mfgs> {
    let mut destinations = rows_of(tensor::bytes(&*seeds.pin()?));
    let mut graphs = Vec::new();
    for _ in 0..layers {
        let (graph, sources) = layer_graph(full, &destinations)?;
        graphs.push(graph);
        destinations = sources;
    }
    graphs.reverse();
    let sources = full.manager.track("source-rows", destinations);
    Ok(Mfgs { graphs, sources })
}

/// The rows whose byte is not 0.
fn rows_of(mask: &[u8]) -> Vec<u32> {
    mask.iter().enumerate().filter(|(_, m)| **m != 0).map(|(row, _)| row as u32).collect()
}

/// The index of each row in a list, `u32::MAX` where the list does not have it.
fn numbers(rows: &[u32], num_rows: usize) -> Vec<u32> {
    let mut numbers = vec![u32::MAX; num_rows];
    for (number, row) in rows.iter().enumerate() {
        numbers[*row as usize] = number as u32;
    }
    numbers
}

/// The graph of all edges into `destinations` (own rows, ascending), and the own rows that are its sources.
fn layer_graph(
    full: &GraphShardManager,
    destinations: &[u32],
) -> Result<(GraphShardManager, Vec<u32>)> {
    let GraphShardManager { manager, group, .. } = full;
    let num_nodes = full.num_sources();
    let row_of = numbers(destinations, num_nodes);
    let mut shards = Vec::new();
    let mut sources = Vec::new();
    for (shard, rows) in full.shards.iter().zip(&full.sources) {
        let rows = rows.pin()?;
        let edges = shard.by_dst()?.edges_into(&row_of, |column| column);
        let (shard, columns) = edges.build(destinations.len(), shard.num_sources(), false);
        // The own shard's columns are the rows themselves.
        let row = |column: u32| rows.get(column as usize).copied().unwrap_or(column);
        shards.push(manager.track_shard("shard", shard));
        sources.push(columns.into_iter().map(row).collect::<Vec<u32>>());
    }
    let Requests { rows: requested, .. } =
        exchange_requests(manager, group, &shards, &sources, num_nodes)?;

    let mut needed = vec![0; num_nodes];
    for row in requested.iter().flatten().chain(destinations) {
        needed[*row as usize] = 1;
    }
    let own_sources = rows_of(&needed);
    let source_of = numbers(&own_sources, num_nodes);
    let renumbered =
        |rows: &[u32]| -> Vec<u32> { rows.iter().map(|row| source_of[*row as usize]).collect() };
    let rank = group.rank();
    let edges = full.local_shard().by_dst()?.edges_into(&row_of, |row| source_of[row as usize]);
    let (local, _) = edges.build(destinations.len(), own_sources.len(), true);
    shards[rank] = manager.track_shard("shard", local);
    sources[rank] = Vec::new();

    let same = own_sources == destinations;
    let track = |rows: Vec<u32>| manager.track("requested-rows", rows);
    let pick = |values: &PointerTensor, rows: &[u32]| -> Result<PointerTensor> {
        let values = values.pin()?;
        let values = tensor::slice::<i64>(&values);
        let picked: Vec<i64> = rows.iter().map(|row| values[*row as usize]).collect();
        Ok(manager.track("node-ids", Tensor::f_from_slice(&picked)?))
    };
    let ends = Ends {
        source_ids: pick(full.source_ids(), &own_sources)?,
        destination_ids: pick(full.destination_ids(), destinations)?,
        destination_rows: (!same).then(|| track(renumbered(destinations))),
        in_degrees: pick(full.in_degrees(), destinations)?,
        source_in_degrees: pick(full.in_degrees(), &own_sources)?,
        out_degrees: pick(full.out_degrees(), &own_sources)?,
    };
    let graph = GraphShardManager {
        manager: manager.clone(),
        group: group.clone(),
        shards,
        sources: sources.into_iter().map(track).collect(),
        requested: requested.iter().map(|rows| track(renumbered(rows))).collect(),
        ends,
    };
    Ok((graph, own_sources))
}
