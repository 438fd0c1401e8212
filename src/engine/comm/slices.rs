//! Reduction of large tensors, of which each rank reduces a slice.

use std::ops::Range;

use super::collectives::{expect_layout, post_reduce, reduced};
use super::group::{Inbox, ProcessGroup, Recipient, complete};
use super::hooks::Hooks;
use super::message::write_bytes;
use super::tag::Operation;
use super::total::ReduceOp;
use crate::engine::array::{Array, ArrayLayout, Elements};
use crate::words::error::Result;

/// A rank's slice of a tensor's elements.
struct Slice {
    layout: ArrayLayout,
    /// Position in the tensor's bytes.
    bytes: Range<usize>,
}

impl Slice {
    fn of(tensor: &ArrayLayout, rank: usize, ranks: usize) -> Self {
        let size = tensor.dtype.size();
        let len = tensor.byte_len().unwrap_or(0) / size;
        let (begin, end) = (len * rank / ranks, len * (rank + 1) / ranks);
        let layout = ArrayLayout::new(tensor.dtype, &[(end - begin) as i64]);
        Slice { layout, bytes: begin * size..end * size }
    }
}

/// [`all_reduce`](super::all_reduce) in two collectives, with the same bits: each rank combines a slice of the tensors and sends
/// it to all. A rank reads twice the bytes of its tensors, where `all_reduce` reads those of all ranks.
///
/// # Errors
/// If ranks pass different numbers, shapes or types of tensors.
pub fn all_reduce_in_slices<T: Elements>(
    group: &dyn ProcessGroup,
    tensors: Vec<T>,
    op: ReduceOp,
    hooks: &dyn Hooks,
) -> Result<Vec<T>> {
    let layouts = tensors.iter().map(Elements::array_layout).collect::<Result<Vec<_>>>()?;
    let ranks = group.world_size();
    let mut outbox = group.outbox(Operation::AllReduce)?;
    for rank in 0..ranks {
        outbox.begin(Recipient::Rank(rank))?;
        for (tensor, layout) in tensors.iter().zip(&layouts) {
            let Slice { layout, bytes } = &Slice::of(layout, rank, ranks);
            tensor.read_elements(|all| write_bytes(&mut *outbox, layout, &all[bytes.clone()]))?;
        }
    }
    let posted = outbox.post()?;
    drop(tensors);
    let collective = complete(group, posted, hooks)?;
    let own = layouts.iter().map(|layout| Slice::of(layout, group.rank(), ranks).layout);
    let slices: Vec<Array> = reduced(group, &collective, &own.collect::<Vec<_>>(), op)?;
    let posted = post_reduce(group, &slices)?;
    drop(slices);
    let collective = complete(group, posted, hooks)?;
    let inboxes = (0..ranks).map(|from| group.inbox(&collective, from));
    let mut inboxes = inboxes.collect::<Result<Vec<_>>>()?;
    let joined = |layout| T::from_elements(layout, |bytes| join(&mut inboxes, layout, bytes));
    layouts.iter().map(joined).collect()
}

/// Reads the next slices of all ranks into the bytes of a tensor.
fn join(inboxes: &mut [Box<dyn Inbox>], tensor: &ArrayLayout, into: &mut [u8]) -> Result<()> {
    let ranks = inboxes.len();
    for (rank, inbox) in inboxes.iter_mut().enumerate() {
        let Slice { layout, bytes } = Slice::of(tensor, rank, ranks);
        expect_layout(&mut **inbox, rank, &layout)?;
        inbox.read(&mut into[bytes])?;
    }
    Ok(())
}
