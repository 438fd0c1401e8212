//! Message flow graphs: for each layer, only the nodes that the required outputs depend on.

use super::edges_into::{EdgesInto, EndKind, TakenDestinations, union};
use super::graph::Graph;
use super::graph_shard_manager::GraphShardManager;
use crate::words::error::Result;

/// Message flow graphs, one per layer, of graphs `G` whose nodes are selected by `R`.
pub struct Mfgs<G = GraphShardManager, R = Vec<u32>> {
    /// The graphs, the first layer's first.
    pub graphs: Vec<G>,
    /// Own rows, ascending, that are the sources of the first graph.
    pub sources: R,
}

impl<G, R> Mfgs<G, R> {
    /// `layer` creates the graph of all edges into its argument, and returns its sources.
    pub(super) fn new(
        seeds: R,
        layers: usize,
        layer: impl Fn(&R) -> Result<(G, R)>,
    ) -> Result<Self> {
        let (mut graphs, mut sources) = (Vec::new(), seeds);
        for _ in 0..layers {
            let (graph, next) = layer(&sources)?;
            graphs.push(graph);
            sources = next;
        }
        graphs.reverse();
        Ok(Mfgs { graphs, sources })
    }
}

/// Creates one graph per layer, the first layer's first; the destinations of the last one are the `seeds` (own rows,
/// ascending): SAR's `construct_mfgs`. One collective per layer.
///
/// A layer's graph has all in-edges of its destinations and the degrees of the full graph, so outputs of the seeds
/// equal those on the full graph. A layer's sources are the previous layer's destinations.
///
/// # Errors
/// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
/// `Interrupted`).
pub fn construct_mfgs(full: &GraphShardManager, seeds: Vec<u32>, layers: usize) -> Result<Mfgs> {
    Mfgs::new(seeds, layers, |destinations| {
        let edges = EdgesInto::new(full, &TakenDestinations::all(destinations))?;
        let sources = sources_of(full, &edges, destinations);
        let graph = edges.into_graph(full, destinations, &sources, EndKind::OneType)?;
        Ok((graph, sources))
    })
}

/// A part of the graph that several steps of propagation to selected nodes depend on.
pub struct Region {
    /// The graph. Sources and destinations are the same nodes. The outermost nodes have no in-edges here, so after k steps
    /// the outer k rings are wrong; after all steps, the selected rows are still right.
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

fn sources_of(full: &GraphShardManager, edges: &EdgesInto, destinations: &[u32]) -> Vec<u32> {
    union(edges.needed().chain(destinations.iter().copied()), full.num_sources())
}
