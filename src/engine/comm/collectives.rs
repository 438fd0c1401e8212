//! Collectives on tensors, over any process group.
//!
//! All take their tensors by value: what is sent is in the outbox before the pause and need not outlive it.

use tch::{Kind, Tensor};

use super::group::{Collective, Posted, ProcessGroup, Recipient, complete};
use super::hooks::Hooks;
use super::message::{read_tensor, write_tensor};
use super::tag::Operation;
use crate::error::{Error, Result};

/// How the values of all ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceOp {
    /// Sum in the order of ranks; floating-point values are summed in double precision.
    Sum,
    /// Largest value.
    Max,
    /// Smallest value.
    Min,
}

/// Sends `send[p]` to rank p and returns what each rank sent here; shapes and types may differ from rank to rank.
///
/// # Errors
/// If `send` does not have one tensor per rank.
pub fn exchange_tensors(
    group: &dyn ProcessGroup,
    send: Vec<Tensor>,
    hooks: &dyn Hooks,
) -> Result<Vec<Tensor>> {
    if send.len() != group.world_size() {
        let problem = format!("{} tensors for {} ranks", send.len(), group.world_size());
        return Err(Error::internal(problem));
    }
    let mut outbox = group.outbox(Operation::ExchangeTensors)?;
    for (rank, tensor) in send.iter().enumerate() {
        outbox.begin(Recipient::Rank(rank));
        write_tensor(&mut *outbox, tensor)?;
    }
    let posted = outbox.post()?;
    drop(send);
    let collective = complete(group, posted, hooks)?;
    (0..group.world_size()).map(|from| receive(group, &collective, from)).collect()
}

/// [`exchange_tensors`] for receivers that know what to expect: `expected[p]` is the shape and type of what rank p sends here.
///
/// # Errors
/// If a tensor of another shape or type arrives.
pub fn all_to_all(
    group: &dyn ProcessGroup,
    send: Vec<Tensor>,
    expected: &[(Vec<i64>, Kind)],
    hooks: &dyn Hooks,
) -> Result<Vec<Tensor>> {
    let received = exchange_tensors(group, send, hooks)?;
    for (rank, (tensor, (shape, kind))) in received.iter().zip(expected).enumerate() {
        if tensor.size() != *shape || tensor.kind() != *kind {
            return Err(Error::internal(format!(
                "rank {rank} sent {:?} {:?} where {kind:?} {shape:?} was expected",
                tensor.kind(),
                tensor.size()
            )));
        }
    }
    Ok(received)
}

/// Sends `tensor` to rank `send_to` and returns what rank `receive_from` sent here.
///
/// # Errors
/// If `receive_from` did not send to this rank.
pub fn exchange_single_tensor(
    group: &dyn ProcessGroup,
    receive_from: usize,
    send_to: usize,
    tensor: Tensor,
    hooks: &dyn Hooks,
) -> Result<Tensor> {
    let posted = post(group, Operation::ExchangeSingleTensor, Recipient::Rank(send_to), &tensor)?;
    drop(tensor);
    let collective = complete(group, posted, hooks)?;
    receive(group, &collective, receive_from)
}

/// Returns the tensors of all ranks, by rank, to every rank; shapes may differ.
pub fn all_gather(
    group: &dyn ProcessGroup,
    tensor: Tensor,
    hooks: &dyn Hooks,
) -> Result<Vec<Tensor>> {
    let posted = post(group, Operation::AllGather, Recipient::Everyone, &tensor)?;
    drop(tensor);
    let collective = complete(group, posted, hooks)?;
    (0..group.world_size()).map(|from| receive(group, &collective, from)).collect()
}

/// Combines the tensors of all ranks, position by position; every rank gets the same result, bit for bit.
///
/// # Errors
/// If ranks pass different numbers, shapes or types of tensors.
pub fn all_reduce(
    group: &dyn ProcessGroup,
    tensors: Vec<Tensor>,
    op: ReduceOp,
    hooks: &dyn Hooks,
) -> Result<Vec<Tensor>> {
    let layout: Vec<_> = tensors.iter().map(|t| (t.size(), t.kind())).collect();
    let mut outbox = group.outbox(Operation::AllReduce)?;
    outbox.begin(Recipient::Everyone);
    for tensor in &tensors {
        write_tensor(&mut *outbox, tensor)?;
    }
    let posted = outbox.post()?;
    drop(tensors);
    let collective = complete(group, posted, hooks)?;
    let mut totals: Vec<Tensor> = Vec::new();
    for from in 0..group.world_size() {
        let mut inbox = group.inbox(&collective, from)?;
        for (i, (shape, kind)) in layout.iter().enumerate() {
            let value = read_tensor(&mut *inbox)?;
            if value.size() != *shape || value.kind() != *kind {
                let problem = format!("rank {from} reduces a tensor of another shape or type");
                return Err(Error::internal(problem));
            }
            let wide = if value.is_floating_point() { Kind::Double } else { Kind::Int64 };
            let value = value.f_to_kind(wide)?;
            match totals.get_mut(i) {
                None => totals.push(value),
                Some(total) => *total = combine(total, &value, op)?,
            }
        }
    }
    let narrow = totals.into_iter().zip(layout).map(|(total, (_, kind))| total.f_to_kind(kind));
    Ok(narrow.collect::<Result<_, _>>()?)
}

fn combine(total: &Tensor, value: &Tensor, op: ReduceOp) -> Result<Tensor> {
    Ok(match op {
        ReduceOp::Sum => total.f_add(value)?,
        ReduceOp::Max => total.f_maximum(value)?,
        ReduceOp::Min => total.f_minimum(value)?,
    })
}

/// Returns `root`'s tensors to every rank; those of other ranks are dropped.
pub fn broadcast(
    group: &dyn ProcessGroup,
    tensors: Vec<Tensor>,
    root: usize,
    hooks: &dyn Hooks,
) -> Result<Vec<Tensor>> {
    let count = tensors.len();
    let mut outbox = group.outbox(Operation::Broadcast)?;
    if group.rank() == root {
        outbox.begin(Recipient::Everyone);
        for tensor in &tensors {
            write_tensor(&mut *outbox, tensor)?;
        }
    }
    let posted = outbox.post()?;
    drop(tensors);
    let collective = complete(group, posted, hooks)?;
    let mut inbox = group.inbox(&collective, root)?;
    (0..count).map(|_| read_tensor(&mut *inbox)).collect()
}

/// Waits until every rank has arrived.
pub fn barrier(group: &dyn ProcessGroup, hooks: &dyn Hooks) -> Result<()> {
    let posted = group.outbox(Operation::Barrier)?.post()?;
    let collective = complete(group, posted, hooks)?;
    // There is nothing to read but which operation the others are in.
    (0..group.world_size()).try_for_each(|from| group.inbox(&collective, from).map(drop))
}

/// Gives every rank the parameters of rank 0: SAR's `sync_params`.
pub fn sync_params(
    group: &dyn ProcessGroup,
    params: Vec<Tensor>,
    hooks: &dyn Hooks,
) -> Result<Vec<Tensor>> {
    broadcast(group, params, 0, hooks)
}

/// Sums the gradients of all ranks in one collective, however many there are: SAR's `gather_grads`.
pub fn gather_grads(
    group: &dyn ProcessGroup,
    grads: Vec<Tensor>,
    hooks: &dyn Hooks,
) -> Result<Vec<Tensor>> {
    all_reduce(group, grads, ReduceOp::Sum, hooks)
}

/// Posts one message per recipient; the caller drops its tensors before it completes the collective.
fn post(
    group: &dyn ProcessGroup,
    operation: Operation,
    recipient: Recipient,
    tensor: &Tensor,
) -> Result<Posted> {
    let mut outbox = group.outbox(operation)?;
    outbox.begin(recipient);
    write_tensor(&mut *outbox, tensor)?;
    outbox.post()
}

fn receive(group: &dyn ProcessGroup, collective: &Collective, from: usize) -> Result<Tensor> {
    let mut inbox = group.inbox(collective, from)?;
    if inbox.remaining() == 0 {
        return Err(Error::internal(format!("rank {from} sent nothing to rank {}", group.rank())));
    }
    read_tensor(&mut *inbox)
}
