//! Maximum and minimum over in-neighbours.

use sar::Result;
use sar::engine::comm::{Collective, Operation, Recipient};
use sar::kernels::{Element, NO_SOURCE, Real, Selection, select, select_adjoint};

use super::local::LocalGraph;
use super::messages::read_values;
use crate::scratch::Scratch;

/// Selects among the rows that have arrived from a `share_rows` of `x`. A node without in-edges gets 0.
pub(crate) fn select_neighbours<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    collective: &Collective,
    selection: Selection,
    x: &[T],
    value: &mut [T],
    argument: &mut [u32],
) -> Result<()> {
    let width = x.len().checked_div(graph.num_sources()).unwrap_or(0);
    argument.fill(NO_SOURCE);
    let mut base = 0;
    for rank in graph.order() {
        let ends = graph.ends(rank);
        if rank == graph.own() {
            select(ends, selection, x, width, base, value, argument);
        } else if ends.num_cols() > 0 && width > 0 {
            let mut inbox = graph.world.group.inbox(collective, rank)?;
            let rows = read_values::<T>(&mut *inbox, ends.num_cols() * width)?;
            select(ends, selection, &rows, width, base, value, argument);
        }
        base += ends.num_cols() as u32;
    }
    for (value, argument) in value.iter_mut().zip(argument) {
        if *argument == NO_SOURCE {
            *value = T::default();
        }
    }
    Ok(())
}

/// Sends each other rank the gradients of its selected rows; one collective.
pub(crate) fn send_select_gradients<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    gy: &[T],
    argument: &[u32],
) -> Result<Collective> {
    let width = gy.len().checked_div(graph.num_nodes()).unwrap_or(0);
    let mut outbox = graph.world.group.outbox(Operation::PushRows)?;
    let mut base = graph.num_sources() as u32;
    for rank in graph.others() {
        let ends = graph.transpose(rank);
        let mut gradients = Scratch::<T>::zeros(ends.num_rows() * width);
        select_adjoint(ends, argument, gy, width, base, &mut gradients);
        outbox.begin(Recipient::Rank(rank))?;
        outbox.write_elements(bytemuck::cast_slice(&gradients), size_of::<T>())?;
        base += ends.num_rows() as u32;
    }
    graph.world.complete(outbox)
}

/// Adds the gradients of own rows that own nodes selected.
pub(crate) fn select_own_adjoint<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    gy: &[T],
    argument: &[u32],
    gx: &mut [T],
) {
    let width = gx.len().checked_div(graph.num_sources()).unwrap_or(0);
    select_adjoint(graph.transpose(graph.own()), argument, gy, width, 0, gx);
}
