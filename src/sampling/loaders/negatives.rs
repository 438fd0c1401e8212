//! Pairs of nodes that are not edges.

use std::collections::{HashMap, HashSet};

use crate::sampling::stores::{Draws, GraphSource, NEGATIVES, SampleKey};
use crate::words::error::{Error, Result};

/// How negative pairs are drawn for a batch's edges; see the example of
/// [`DistEdgeDataLoader`](super::DistEdgeDataLoader).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NegativeSampler {
    /// DGL's `PerSourceUniform` (`Uniform`): for each edge, its source with this many destinations, drawn uniformly and
    /// with replacement from the nodes of the destination's type. A pair may be an edge by chance.
    PerSourceUniform(usize),
    /// DGL's `GlobalUniform`: per edge, up to this many pairs of nodes of the edge's two node types that are not edges.
    GlobalUniform {
        /// Largest number of pairs per edge.
        per_edge: usize,
        /// Whether pairs of a node with itself are left out.
        exclude_self_loops: bool,
        /// Whether a pair may be drawn several times.
        replace: bool,
    },
}

/// Maximum number of draws to replace a pair that is an edge.
const TRIES: usize = 3;

impl NegativeSampler {
    /// Draws the sources and destinations of negative pairs; a pure function of the graph, the edges and the key. With
    /// [`PerSourceUniform`](NegativeSampler::PerSourceUniform) the pairs of an edge lie together, in the order of the edges.
    pub(super) fn draw(
        self,
        graph: &dyn GraphSource,
        edges: &[u64],
        sources: &[u64],
        key: SampleKey,
    ) -> Result<(Vec<u64>, Vec<u64>)> {
        let key = SampleKey { layer: NEGATIVES, ..key };
        let types = edges.iter().map(|edge| end_types(graph, *edge)).collect::<Result<Vec<_>>>()?;
        match self {
            NegativeSampler::PerSourceUniform(k) => {
                let mut pairs = (Vec::new(), Vec::new());
                for (i, (source, [_, ntype])) in sources.iter().zip(&types).enumerate() {
                    let mut draws = Draws::new(key, 0, i as u64);
                    for _ in 0..k {
                        pairs.0.push(*source);
                        pairs.1.push(any_node(graph, *ntype, &mut draws)?);
                    }
                }
                Ok(pairs)
            }
            NegativeSampler::GlobalUniform { per_edge, exclude_self_loops, replace } => {
                global(graph, &types, per_edge, exclude_self_loops, replace, key)
            }
        }
    }
}

fn global(
    graph: &dyn GraphSource,
    types: &[[usize; 2]],
    per_edge: usize,
    exclude_self_loops: bool,
    replace: bool,
    key: SampleKey,
) -> Result<(Vec<u64>, Vec<u64>)> {
    let mut draws: Vec<Draws> = (0..types.len() as u64).map(|i| Draws::new(key, 0, i)).collect();
    let mut missing: Vec<usize> = (0..types.len()).flat_map(|i| vec![i; per_edge]).collect();
    let (mut pairs, mut seen) = ((Vec::new(), Vec::new()), HashSet::new());
    for _ in 0..TRIES {
        let mut drawn = Vec::with_capacity(missing.len());
        for &i in &missing {
            let [source, destination] = types[i];
            let source = any_node(graph, source, &mut draws[i])?;
            drawn.push((i, source, any_node(graph, destination, &mut draws[i])?));
        }
        let known = in_neighbours(graph, drawn.iter().map(|(_, _, destination)| *destination))?;
        missing.clear();
        for (i, source, destination) in drawn {
            let is_edge = known.get(&destination).is_some_and(|n| n.contains(&source));
            let is_loop = exclude_self_loops && source == destination;
            if is_edge || is_loop || (!replace && !seen.insert((source, destination))) {
                missing.push(i);
            } else {
                pairs.0.push(source);
                pairs.1.push(destination);
            }
        }
    }
    Ok(pairs)
}

/// The sources of each node's in-edges.
fn in_neighbours(
    graph: &dyn GraphSource,
    nodes: impl Iterator<Item = u64>,
) -> Result<HashMap<u64, HashSet<u64>>> {
    let mut nodes: Vec<u64> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    let edges = graph.in_subgraph(&nodes)?;
    let mut sources = edges.sources.iter().copied();
    let counts = nodes.iter().zip(&edges.counts);
    Ok(counts.map(|(node, n)| (*node, sources.by_ref().take(*n as usize).collect())).collect())
}

/// The node types of an edge's source and destination.
fn end_types(graph: &dyn GraphSource, edge: u64) -> Result<[usize; 2]> {
    let book = graph.book();
    let types = book.edge_type(edge).map(|etype| book.etype_ends()[etype]);
    types.ok_or_else(|| Error::config("ids", format!("there is no edge {edge}")))
}

fn any_node(graph: &dyn GraphSource, ntype: usize, draws: &mut Draws) -> Result<u64> {
    let book = graph.book();
    let count = book.num_nodes_of_type(ntype) as u32;
    let node = (count > 0)
        .then(|| draws.below(count))
        .and_then(|id| book.to_homogeneous(ntype, id.into()));
    node.ok_or_else(|| Error::internal(format!("no node of type {ntype} can be drawn")))
}
