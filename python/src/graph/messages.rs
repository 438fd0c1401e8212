//! Rows of nodes in messages.

use bytemuck::Pod;
use pyo3::prelude::*;
use sar::Result;
use sar::engine::comm::{Collective, Inbox, Operation, Outbox, Recipient};
use sar::kernels::{Element, Real, gather_rows, scatter_add_rows};

use super::local::LocalGraph;
use crate::scratch::Scratch;

/// Bytes gathered at a time.
const PIECE: usize = 1 << 20;

/// Whether messages can be read again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    No,
    Yes,
}

/// Messages that are read again in the backward pass.
#[pyclass(frozen, module = "sar_single._engine")]
pub(crate) struct Kept(Collective);

impl Kept {
    pub(crate) fn new(collective: Collective) -> Self {
        Kept(collective)
    }

    pub(super) fn collective(&self) -> &Collective {
        &self.0
    }
}

/// Sends every other rank the rows of some matrices that it has edges from, and waits; one collective.
pub(crate) fn share_rows(graph: &LocalGraph, parts: &[&[u8]], keep: Keep) -> Result<Collective> {
    let mut outbox = graph.world.group.outbox(Operation::PullRows)?;
    if keep == Keep::Yes {
        outbox.keep();
    }
    for rank in graph.others() {
        outbox.begin(Recipient::Rank(rank))?;
        for part in parts {
            write_rows(&mut *outbox, part, graph.num_sources(), graph.requests(rank))?;
        }
    }
    graph.world.complete(outbox)
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
        outbox.write_elements(&piece, size_of::<f32>())?;
    }
    Ok(())
}

/// The next values of a message.
pub(crate) fn read_values<T: Pod>(inbox: &mut dyn Inbox, len: usize) -> Result<Scratch<T>> {
    let mut values = Scratch::new(len);
    inbox.read(bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}

/// Adds gradients that other ranks computed for own rows, rank by rank; a message has those of several matrices one after the other.
pub(crate) fn add_own_rows<T: Real + Element<Real = T>, const N: usize>(
    graph: &LocalGraph,
    collective: &Collective,
    mut parts: [&mut [T]; N],
) -> Result<()> {
    for rank in graph.others() {
        let rows = graph.requests(rank);
        if rows.is_empty() {
            continue;
        }
        let mut inbox = graph.world.group.inbox(collective, rank)?;
        for gradient in &mut parts {
            let width = gradient.len().checked_div(graph.num_sources()).unwrap_or(0);
            if width > 0 {
                let values = read_values::<T>(&mut *inbox, rows.len() * width)?;
                scatter_add_rows(&values, width, rows, gradient);
            }
        }
    }
    Ok(())
}
