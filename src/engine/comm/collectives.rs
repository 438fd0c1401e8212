//! Collectives on arrays, over any process group.
//!
//! Functions take arrays by value: the outbox has stored their data before the pause, so they need not outlive it.

use super::group::{Collective, Inbox, Posted, ProcessGroup, Recipient, complete};
use super::hooks::Hooks;
use super::message::{read_array, read_layout, write_array};
use super::tag::{Operation, unlike};
use super::total::{ReduceOp, Total};
use crate::engine::array::{Array, ArrayLayout, Elements};
use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// Number of elements that are reduced at a time, so that intermediate results take little memory.
const REDUCED: usize = 1 << 16;

/// Sends `send[p]` to rank p and returns the tensors from all ranks; shapes and types may differ from rank to rank.
///
/// # Errors
/// If `send` does not have one tensor per rank.
pub fn exchange_tensors<T: Elements>(
    group: &dyn ProcessGroup,
    send: Vec<T>,
    hooks: &dyn Hooks,
) -> Result<Vec<T>> {
    if send.len() != group.world_size() {
        let (rank, sent, world_size) = (group.rank(), send.len(), group.world_size());
        let problem = format!("rank {rank} sends {sent} tensors to {world_size} ranks");
        return Err(Error::config("send", problem));
    }
    let mut outbox = group.outbox(Operation::ExchangeTensors)?;
    for (rank, tensor) in send.iter().enumerate() {
        outbox.begin(Recipient::Rank(rank))?;
        write_array(&mut *outbox, tensor)?;
    }
    let posted = outbox.post()?;
    drop(send);
    let collective = complete(group, posted, hooks)?;
    (0..group.world_size()).map(|from| receive(group, &collective, from)).collect()
}

/// [`exchange_tensors`] for known shapes and types: `expected[p]` describes the tensor from rank p.
///
/// # Errors
/// If `send` or `expected` does not have one entry per rank, or a tensor of another shape or type arrives.
pub fn all_to_all<T: Elements>(
    group: &dyn ProcessGroup,
    send: Vec<T>,
    expected: &[ArrayLayout],
    hooks: &dyn Hooks,
) -> Result<Vec<T>> {
    let (rank, world_size) = (group.rank(), group.world_size());
    if expected.len() != world_size {
        let expected = expected.len();
        let problem = format!("rank {rank} expects {expected} tensors from {world_size} ranks");
        return Err(Error::config("expected", problem));
    }
    let received = exchange_tensors(group, send, hooks)?;
    for (rank, (array, expected)) in received.iter().zip(expected).enumerate() {
        let sent = array.array_layout()?;
        if sent != *expected {
            return Err(unlike(format!("rank {rank} sent {sent} where {expected} was expected")));
        }
    }
    Ok(received)
}

/// Sends `tensor` to rank `send_to` and returns the tensor from rank `receive_from`.
///
/// # Errors
/// If a rank does not exist, or `receive_from` did not send to this rank.
pub fn exchange_single_tensor<T: Elements>(
    group: &dyn ProcessGroup,
    receive_from: usize,
    send_to: usize,
    tensor: T,
    hooks: &dyn Hooks,
) -> Result<T> {
    check_rank(group, "receive_from", receive_from)?;
    check_rank(group, "send_to", send_to)?;
    let posted = post(group, Operation::ExchangeSingleTensor, Recipient::Rank(send_to), &[tensor])?;
    let collective = complete(group, posted, hooks)?;
    receive(group, &collective, receive_from)
}

/// Returns the tensors of all ranks, by rank, on every rank; shapes may differ.
///
/// # Errors
/// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
/// `Interrupted`).
pub fn all_gather<T: Elements>(
    group: &dyn ProcessGroup,
    tensor: T,
    hooks: &dyn Hooks,
) -> Result<Vec<T>> {
    let posted = post(group, Operation::AllGather, Recipient::Everyone, &[tensor])?;
    let collective = complete(group, posted, hooks)?;
    (0..group.world_size()).map(|from| receive(group, &collective, from)).collect()
}

/// Combines the tensors of all ranks, position by position; the result is the same on every rank, bit for bit.
///
/// # Errors
/// If ranks pass different numbers, shapes or types of tensors.
pub fn all_reduce<T: Elements>(
    group: &dyn ProcessGroup,
    tensors: Vec<T>,
    op: ReduceOp,
    hooks: &dyn Hooks,
) -> Result<Vec<T>> {
    let layouts = tensors.iter().map(Elements::array_layout).collect::<Result<Vec<_>>>()?;
    let posted = post_reduce(group, &tensors)?;
    drop(tensors);
    let collective = complete(group, posted, hooks)?;
    reduced(group, &collective, &layouts, op)
}

/// The first half of [`all_reduce`]: posts this rank's tensors.
///
/// # Errors
/// If a message cannot be written (`Io`, `OutOfDisk`).
pub fn post_reduce<T: Elements>(group: &dyn ProcessGroup, tensors: &[T]) -> Result<Posted> {
    post(group, Operation::AllReduce, Recipient::Everyone, tensors)
}

/// The second half of [`all_reduce`]: combines all ranks' posted tensors. `layouts` describes this rank's tensors.
///
/// # Errors
/// If ranks have posted different numbers, shapes or types of tensors, or a message cannot be read (`Io`, `Corrupt`).
pub fn reduced<T: Elements>(
    group: &dyn ProcessGroup,
    collective: &Collective,
    layouts: &[ArrayLayout],
    op: ReduceOp,
) -> Result<Vec<T>> {
    let inboxes = (0..group.world_size()).map(|from| group.inbox(collective, from));
    let mut inboxes = inboxes.collect::<Result<Vec<_>>>()?;
    let mut results = Vec::with_capacity(layouts.len());
    for (i, layout) in layouts.iter().enumerate() {
        for (from, inbox) in inboxes.iter_mut().enumerate() {
            if inbox.remaining() == 0 {
                return Err(uneven(from, i, group.rank(), layouts.len()));
            }
            expect_layout(&mut **inbox, from, layout)?;
        }
        results.push(T::from_elements(layout, |bytes| {
            let blocks = bytes.chunks_mut(REDUCED * layout.dtype.size());
            blocks.into_iter().try_for_each(|block| combine(&mut inboxes, layout.dtype, op, block))
        })?);
    }
    for (from, inbox) in inboxes.iter_mut().enumerate() {
        let more = read_rest::<Array>(&mut **inbox)?.len();
        if more > 0 {
            return Err(uneven(from, layouts.len() + more, group.rank(), layouts.len()));
        }
    }
    Ok(results)
}

/// Reads the layout of the next tensor that `from` reduces, which must be this one.
pub(super) fn expect_layout(
    inbox: &mut dyn Inbox,
    from: usize,
    layout: &ArrayLayout,
) -> Result<()> {
    if read_layout(inbox)? != *layout {
        return Err(unlike(format!("rank {from} reduces a tensor of another shape or type")));
    }
    Ok(())
}

/// Combines the next values of all ranks' messages in the order of ranks; `block` gets the result.
fn combine(
    inboxes: &mut [Box<dyn Inbox>],
    dtype: Dtype,
    op: ReduceOp,
    block: &mut [u8],
) -> Result<()> {
    let mut total: Option<Total> = None;
    for inbox in inboxes {
        inbox.read(block)?;
        match &mut total {
            None => total = Some(Total::new(dtype, block)?),
            Some(total) => total.add(dtype, block, op)?,
        }
    }
    if let Some(total) = total {
        total.write(dtype, block);
    }
    Ok(())
}

/// Sends `root`'s tensors, any number of them, to every rank; other ranks' tensors are dropped.
///
/// # Errors
/// If `root` is not a rank, a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
/// `Interrupted`).
pub fn broadcast<T: Elements>(
    group: &dyn ProcessGroup,
    tensors: Vec<T>,
    root: usize,
    hooks: &dyn Hooks,
) -> Result<Vec<T>> {
    check_rank(group, "root", root)?;
    let sent = if group.rank() == root { &tensors[..] } else { &[] };
    let posted = post(group, Operation::Broadcast, Recipient::Everyone, sent)?;
    drop(tensors);
    let collective = complete(group, posted, hooks)?;
    let mut inbox = group.inbox(&collective, root)?;
    read_rest(&mut *inbox)
}

/// Waits until every rank has arrived.
///
/// # Errors
/// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
/// `Interrupted`).
pub fn barrier(group: &dyn ProcessGroup, hooks: &dyn Hooks) -> Result<()> {
    meet(group, Operation::Barrier, hooks)
}

/// Waits until every rank has come to the end of its work.
///
/// # Errors
/// As for [`barrier`], or if a rank is in another collective (`Worker`): not all ranks have made the same ones.
pub fn end_together(group: &dyn ProcessGroup, hooks: &dyn Hooks) -> Result<()> {
    meet(group, Operation::End, hooks)
}

fn meet(group: &dyn ProcessGroup, operation: Operation, hooks: &dyn Hooks) -> Result<()> {
    let posted = group.outbox(operation)?.post()?;
    let collective = complete(group, posted, hooks)?;
    // The messages are empty; reading them checks that all ranks are in this operation.
    (0..group.world_size()).try_for_each(|from| group.inbox(&collective, from).map(drop))
}

/// Sends the parameters of rank 0 to every rank: SAR's `sync_params`.
///
/// # Errors
/// If rank 0 has another number of parameters, or one with another shape or type; if a message cannot be written or
/// read (`Io`, `OutOfDisk`, `Corrupt`); if the run is being stopped (`Aborted`, `Interrupted`).
pub fn sync_params<T: Elements>(
    group: &dyn ProcessGroup,
    params: Vec<T>,
    hooks: &dyn Hooks,
) -> Result<Vec<T>> {
    let own = params.iter().map(Elements::array_layout).collect::<Result<Vec<_>>>()?;
    let synced = broadcast(group, params, 0, hooks)?;
    let (rank, count) = (group.rank(), own.len());
    if synced.len() != count {
        let sent = synced.len();
        let problem = format!("rank 0 sends {sent} parameters to rank {rank}, which has {count}");
        return Err(unlike(problem));
    }
    for (i, (theirs, own)) in synced.iter().zip(own).enumerate() {
        let sent = theirs.array_layout()?;
        if sent != own {
            let problem = format!("parameter {i} is {sent} on rank 0 and {own} on rank {rank}");
            return Err(unlike(problem));
        }
    }
    Ok(synced)
}

/// Sums any number of gradients over all ranks in one collective: SAR's `gather_grads`.
///
/// # Errors
/// As for [`all_reduce`].
pub fn gather_grads<T: Elements>(
    group: &dyn ProcessGroup,
    grads: Vec<T>,
    hooks: &dyn Hooks,
) -> Result<Vec<T>> {
    all_reduce(group, grads, ReduceOp::Sum, hooks)
}

/// Posts one message with tensors; the caller drops them before it completes the collective.
fn post(
    group: &dyn ProcessGroup,
    operation: Operation,
    recipient: Recipient,
    tensors: &[impl Elements],
) -> Result<Posted> {
    let mut outbox = group.outbox(operation)?;
    outbox.begin(recipient)?;
    tensors.iter().try_for_each(|tensor| write_array(&mut *outbox, tensor))?;
    outbox.post()
}

fn receive<T: Elements>(
    group: &dyn ProcessGroup,
    collective: &Collective,
    from: usize,
) -> Result<T> {
    let mut inbox = group.inbox(collective, from)?;
    if inbox.remaining() == 0 {
        return Err(unlike(format!("rank {from} sent nothing to rank {}", group.rank())));
    }
    read_array(&mut *inbox)
}

/// All remaining arrays of a message.
fn read_rest<T: Elements>(inbox: &mut dyn Inbox) -> Result<Vec<T>> {
    let mut arrays = Vec::new();
    while inbox.remaining() > 0 {
        arrays.push(read_array(inbox)?);
    }
    Ok(arrays)
}

/// The error of ranks that reduce different numbers of tensors.
fn uneven(from: usize, theirs: usize, rank: usize, own: usize) -> Error {
    unlike(format!("rank {from} reduces {theirs} tensors where rank {rank} reduces {own}"))
}

/// Checks that the rank that an argument names exists.
fn check_rank(group: &dyn ProcessGroup, argument: &str, rank: usize) -> Result<()> {
    let ranks = group.world_size();
    if rank < ranks {
        return Ok(());
    }
    Err(Error::config(argument, format!("rank {rank} does not exist; ranks are below {ranks}")))
}
