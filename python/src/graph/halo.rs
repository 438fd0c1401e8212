//! The rows of all sources of edges in one matrix, for code that the engine does not know.

use bytemuck::Pod;
use sar::Result;
use sar::engine::comm::{Collective, Operation, Recipient};
use sar::kernels::{Element, Real};

use super::local::LocalGraph;
use super::messages::add_own_rows;

/// Fills `out` with the own rows and, from a `share_rows` of them, those of the other ranks.
pub(crate) fn halo_rows(
    graph: &LocalGraph,
    collective: &Collective,
    x: &[u8],
    out: &mut [u8],
) -> Result<()> {
    let width = x.len().checked_div(graph.num_sources()).unwrap_or(0);
    let (own, mut rest) = out.split_at_mut(x.len());
    own.copy_from_slice(x);
    for rank in graph.others() {
        let (rows, behind) = rest.split_at_mut(graph.ends(rank).num_cols() * width);
        rest = behind;
        if !rows.is_empty() {
            graph.world.group.inbox(collective, rank)?.read(rows)?;
        }
    }
    Ok(())
}

/// Sends the gradients of other ranks' rows to their owners; one collective.
pub(crate) fn send_halo_gradients<T: Pod>(
    graph: &LocalGraph,
    gradients: &[T],
) -> Result<Collective> {
    let width = gradients.len().checked_div(graph.num_halo_rows()).unwrap_or(0);
    let mut rest = &gradients[graph.num_sources() * width..];
    let mut outbox = graph.world.group.outbox(Operation::PushRows)?;
    for rank in graph.others() {
        let (rows, behind) = rest.split_at(graph.ends(rank).num_cols() * width);
        rest = behind;
        outbox.begin(Recipient::Rank(rank))?;
        outbox.write_elements(bytemuck::cast_slice(rows), size_of::<T>())?;
    }
    graph.world.complete(outbox)
}

/// Adds up the gradients of own rows: those computed here, then those of the other ranks ascending.
pub(crate) fn add_halo_gradients<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    collective: &Collective,
    gradients: &[T],
    gx: &mut [T],
) -> Result<()> {
    gx.copy_from_slice(&gradients[..gx.len()]);
    add_own_rows(graph, collective, [gx])
}
