//! Message flow graphs: for each layer, only the nodes on which the wanted outputs depend.

use super::edges_into::{EdgesInto, EndKind, TakenDestinations, rows_of, union};
use super::graph::Graph;
use super::graph_shard_manager::GraphShardManager;
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
    let sources = full.manager.track("source-rows", destinations);
    Ok(Mfgs { graphs, sources })
}

/// A part of the graph that is large enough for several steps of propagation to one set of nodes.
pub struct Region {
    /// The graph. Its destinations are its sources. Nodes of the outermost ring have no in-edges, so only the inner rows are
    /// right after a step, and after all steps those that the region was made for.
    pub graph: GraphShardManager,
    /// The own rows, ascending, that are its nodes.
    pub rows: Vec<u32>,
}

/// Builds the graph on which `rows` (own rows, ascending) depend after a number of steps; a collective per step, and one more.
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

/// The graph of all edges into `destinations` (own rows, ascending), and the own rows that are its sources.
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
