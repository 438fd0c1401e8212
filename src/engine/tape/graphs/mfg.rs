//! Message flow graphs: for each layer, only the nodes that the required outputs depend on.

use super::edges_into::{EdgesInto, EndKind, TakenDestinations, rows_of, union};
use super::graph::Graph;
use super::graph_shard_manager::GraphShardManager;
use crate::engine::spill::{Pointer, PointerTensor};
use crate::engine::tensor;
use crate::error::Result;

/// Message flow graphs, one per layer.
pub struct Mfgs {
    /// The graphs, the first layer's first.
    pub graphs: Vec<GraphShardManager>,
    /// Own rows, ascending, that are the sources of the first graph.
    pub sources: Pointer<Vec<u32>>,
}

/// Creates one graph per layer, the first layer's first; the destinations of the last one are the `seeds` (`bool
/// [num_nodes]`): SAR's `construct_mfgs`. One collective per layer.
///
/// A layer's graph has all in-edges of its destinations and the degrees of the full graph, so outputs of the seeds
/// equal those on the full graph. A layer's sources are the previous layer's destinations.
///
/// # Errors
/// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
/// `Interrupted`).
pub fn construct_mfgs(
    full: &GraphShardManager,
    seeds: &PointerTensor,
    layers: usize,
) -> Result<Mfgs> {
    let mut destinations = rows_of(&tensor::bytes(&*seeds.pin()?));
    let mut graphs = Vec::new();
    for _ in 0..layers {
        let (graph, sources) = layer_graph(full, &destinations)?;
        graphs.push(graph);
        destinations = sources;
    }
    graphs.reverse();
    let sources = full.exchange.manager.track("source-rows", destinations);
    Ok(Mfgs { graphs, sources })
}

/// A part of the graph that several steps of propagation to selected nodes depend on.
pub struct Region {
    /// The graph. Its destinations are its sources. Nodes of the outermost ring have no in-edges here, so each step
    /// makes one more ring wrong; after all steps, the selected rows are right.
    pub graph: GraphShardManager,
    /// Own rows, ascending, that are its nodes.
    pub rows: Vec<u32>,
}

/// Creates the graph that `rows` (own rows, ascending) depend on in this number of steps. One collective per step, and
/// one more.
///
/// # Errors
/// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
/// `Interrupted`).
pub fn construct_region(full: &GraphShardManager, rows: &[u32], steps: usize) -> Result<Region> {
    let (mut inner, mut outer) = (Vec::new(), rows.to_vec());
    for _ in 0..steps {
        let edges = EdgesInto::new(full, &TakenDestinations::all(&outer))?;
        let sources = sources_of(full, &edges, &outer);
        (inner, outer) = (outer, sources);
    }
    let edges = EdgesInto::new(full, &TakenDestinations { rows: &outer, with_edges: &inner })?;
    let graph = edges.into_graph(full, &outer, &outer, EndKind::OneType)?;
    Ok(Region { graph, rows: outer })
}

/// The graph of all edges into `destinations` (own rows, ascending), and its sources' own rows.
fn layer_graph(
    full: &GraphShardManager,
    destinations: &[u32],
) -> Result<(GraphShardManager, Vec<u32>)> {
    let edges = EdgesInto::new(full, &TakenDestinations::all(destinations))?;
    let sources = sources_of(full, &edges, destinations);
    let graph = edges.into_graph(full, destinations, &sources, EndKind::OneType)?;
    Ok((graph, sources))
}

fn sources_of(full: &GraphShardManager, edges: &EdgesInto, destinations: &[u32]) -> Vec<u32> {
    union(edges.needed().chain(destinations.iter().copied()), full.num_sources())
}
