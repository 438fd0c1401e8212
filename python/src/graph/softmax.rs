//! Softmax of edge values over the in-edges of each node. No collective: all of them are here.

use sar::kernels::{EdgeSoftmax, Element, Real};

use super::local::LocalGraph;

/// `y` of scores, both `[num_edges, heads]`.
pub(crate) fn edge_softmax<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    heads: usize,
    scores: &[T],
    y: &mut [T],
) {
    let mut largest = vec![T::NEG_INFINITY; graph.num_nodes() * heads];
    let mut sum = vec![T::default(); graph.num_nodes() * heads];
    for rank in graph.order() {
        let edges = graph.edges(rank);
        let scores = &scores[edges.start * heads..edges.end * heads];
        shard(graph, rank, heads).accumulate(scores, &mut largest, &mut sum);
    }
    for rank in graph.order() {
        let edges = graph.edges(rank);
        let values = edges.start * heads..edges.end * heads;
        let y = &mut y[values.clone()];
        shard(graph, rank, heads).normalise(&scores[values], &largest, &sum, y);
    }
}

/// The gradient of the scores, from `y` and its gradient.
pub(crate) fn edge_softmax_adjoint<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    heads: usize,
    y: &[T],
    gy: &[T],
    gscores: &mut [T],
) {
    let mut delta = vec![T::default(); graph.num_nodes() * heads];
    for rank in graph.order() {
        let edges = graph.edges(rank);
        let values = edges.start * heads..edges.end * heads;
        shard(graph, rank, heads).inner_products(&y[values.clone()], &gy[values], &mut delta);
    }
    for rank in graph.order() {
        let edges = graph.edges(rank);
        let values = edges.start * heads..edges.end * heads;
        let gscores = &mut gscores[values.clone()];
        shard(graph, rank, heads).adjoint(&y[values.clone()], &gy[values], &delta, gscores);
    }
}

fn shard(graph: &LocalGraph, rank: usize, heads: usize) -> EdgeSoftmax<'_> {
    EdgeSoftmax { by_dst: graph.ends(rank), heads }
}
