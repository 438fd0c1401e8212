//! Sums over in-neighbours, with or without a factor per edge and head.

use sar::Result;
use sar::engine::comm::{Collective, Operation, Recipient};
use sar::graph::Csr;
use sar::kernels::{EdgeSum, Element, Real, Spmm};

use super::local::LocalGraph;
use super::messages::{read_values, write_rows};
use crate::scratch::Scratch;

/// Factors of edges, `[num_edges, heads]`, in the numbering of the graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factors<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) heads: usize,
}

/// Adds what has arrived from a `share_rows` of `x` to `y`: own rows first, then those of the other ranks ascending.
pub(crate) fn sum<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    collective: &Collective,
    factors: Option<Factors<'_, T>>,
    x: &[T],
    y: &mut [T],
) -> Result<()> {
    let columns = x.len().checked_div(graph.num_sources()).unwrap_or(0);
    for rank in graph.order() {
        let ends = graph.ends(rank);
        if rank == graph.own() {
            add(ends, part(graph, rank, factors), None, x, columns, y);
        } else if ends.num_cols() > 0 && columns > 0 {
            let mut inbox = graph.world.group.inbox(collective, rank)?;
            let rows = read_values::<T>(&mut *inbox, ends.num_cols() * columns)?;
            add(ends, part(graph, rank, factors), None, &rows, columns, y);
        }
    }
    Ok(())
}

/// Sends each other rank the gradients of the rows that edges here begin at; after them, if `x` is given, the rows of `x` that
/// it has edges from. One collective.
pub(crate) fn send_gradients<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    factors: Option<Factors<'_, T>>,
    gy: &[T],
    x: Option<&[T]>,
) -> Result<Collective> {
    let columns = gy.len().checked_div(graph.num_nodes()).unwrap_or(0);
    let mut outbox = graph.world.group.outbox(Operation::PushRows)?;
    for rank in graph.others() {
        outbox.begin(Recipient::Rank(rank))?;
        let ends = graph.transpose(rank);
        let mut gradients = Scratch::<T>::zeros(ends.num_rows() * columns);
        let factors = part(graph, rank, factors);
        add(ends, factors, Some(graph.places(rank)), gy, columns, &mut gradients);
        outbox.write_elements(bytemuck::cast_slice(&gradients), size_of::<T>())?;
        if let Some(x) = x {
            let x = bytemuck::cast_slice(x);
            write_rows(&mut *outbox, x, graph.num_sources(), graph.requests(rank))?;
        }
    }
    graph.world.complete(outbox)
}

/// Adds the gradient of own rows along own edges.
pub(crate) fn adjoint_of_own<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    factors: Option<Factors<'_, T>>,
    gy: &[T],
    gx: &mut [T],
) {
    let columns = gx.len().checked_div(graph.num_sources()).unwrap_or(0);
    let own = graph.own();
    let places = Some(graph.places(own));
    add(graph.transpose(own), part(graph, own, factors), places, gy, columns, gx);
}

/// The gradient of the factors, from a collective that `send_gradients` sent `x` with.
pub(crate) fn factor_gradients<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    collective: &Collective,
    heads: usize,
    x: &[T],
    gy: &[T],
    gfactors: &mut [T],
) -> Result<()> {
    let columns = gy.len().checked_div(graph.num_nodes()).unwrap_or(0);
    let width = columns / heads.max(1);
    for rank in graph.order() {
        let ends = graph.ends(rank);
        let edges = graph.edges(rank);
        let gfactors = &mut gfactors[edges.start * heads..edges.end * heads];
        let product = EdgeSum { graph: ends, places: None, heads, width };
        if rank == graph.own() {
            product.inner_products(x, gy, gfactors);
        } else if ends.num_cols() > 0 && columns > 0 {
            let mut inbox = graph.world.group.inbox(collective, rank)?;
            // What comes first are gradients for this rank.
            read_values::<T>(&mut *inbox, graph.requests(rank).len() * columns)?;
            let rows = read_values::<T>(&mut *inbox, ends.num_cols() * columns)?;
            product.inner_products(&rows, gy, gfactors);
        }
    }
    Ok(())
}

/// The factors of a shard's edges.
fn part<'a, T>(
    graph: &LocalGraph,
    rank: usize,
    factors: Option<Factors<'a, T>>,
) -> Option<Factors<'a, T>> {
    let edges = graph.edges(rank);
    factors.map(|Factors { values, heads }| Factors {
        values: &values[edges.start * heads..edges.end * heads],
        heads,
    })
}

fn add<T: Real + Element<Real = T>>(
    graph: &Csr,
    factors: Option<Factors<'_, T>>,
    places: Option<&[u32]>,
    x: &[T],
    columns: usize,
    y: &mut [T],
) {
    match factors {
        None => {
            Spmm { graph, weights: None, row_scale: None, col_scale: None }.add_to(x, columns, y);
        }
        Some(Factors { values, heads }) => {
            EdgeSum { graph, places, heads, width: columns / heads.max(1) }.add_to(values, x, y);
        }
    }
}
