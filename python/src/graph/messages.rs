//! Rows of nodes in messages.

use bytemuck::Pod;
use sar::Result;
use sar::engine::comm::{
    Collective, Hooks, Inbox, Operation, Outbox, ProcessGroup, Recipient, complete,
};
use sar::kernels::{Element, Real, gather_rows, scatter_add_rows};

use super::local::LocalGraph;

/// Bytes gathered at a time.
const PIECE: usize = 4 << 20;

/// Sends every other rank the rows that it has edges from, and waits; one collective.
pub(crate) fn share_rows(
    graph: &LocalGraph,
    x: &[u8],
    group: &dyn ProcessGroup,
    hooks: &dyn Hooks,
) -> Result<Collective> {
    let mut outbox = group.outbox(Operation::PullRows)?;
    for rank in graph.others() {
        outbox.begin(Recipient::Rank(rank));
        write_rows(&mut *outbox, x, graph.num_nodes(), graph.requests(rank))?;
    }
    complete(group, outbox.post()?, hooks)
}

/// Appends some of the rows of a matrix of `num_rows`.
pub(super) fn write_rows(
    outbox: &mut dyn Outbox,
    x: &[u8],
    num_rows: usize,
    rows: &[u32],
) -> Result<()> {
    let width = x.len().checked_div(num_rows).unwrap_or(0);
    let mut piece = Vec::new();
    for rows in rows.chunks((PIECE / width.max(1)).max(1)) {
        piece.resize(rows.len() * width, 0);
        gather_rows(x, width, rows, &mut piece);
        outbox.write(&piece)?;
    }
    Ok(())
}

/// The next values of a message.
pub(crate) fn read_values<T: Pod>(inbox: &mut dyn Inbox, len: usize) -> Result<Vec<T>> {
    let mut values = vec![T::zeroed(); len];
    inbox.read(bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}

/// Adds gradients that other ranks computed for own rows, one rank after the other.
pub(crate) fn add_own_rows<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    group: &dyn ProcessGroup,
    collective: &Collective,
    gx: &mut [T],
) -> Result<()> {
    let width = gx.len().checked_div(graph.num_nodes()).unwrap_or(0);
    for rank in graph.others() {
        let rows = graph.requests(rank);
        if rows.is_empty() || width == 0 {
            continue;
        }
        let mut inbox = group.inbox(collective, rank)?;
        let values = read_values::<T>(&mut *inbox, rows.len() * width)?;
        scatter_add_rows(&values, width, rows, gx);
    }
    Ok(())
}
