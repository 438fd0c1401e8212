//! Collectives: the exchange of data between ranks, and the pauses for it.
//!
//! A [`ProcessGroup`] moves bytes: [`FileGroup`] through files, which are in memory where ranks are threads of one
//! process. The collectives are written on top of that trait, for any arrays that implement
//! [`Elements`](crate::engine::array::Elements). A collective has one pause: the rank posts its messages, arrives,
//! calls `precall` (spill, give up the turn), waits until all ranks have arrived, calls `callback` (take the next
//! turn), and reads the others' messages.

mod between_machines;
mod collectives;
mod file;
mod group;
mod hooks;
pub mod machines;
mod message;
mod outbox_file;
mod placement;
mod ranks;
mod slices;
mod tag;
#[cfg(feature = "torch")]
mod tensor;
mod total;

pub use between_machines::{
    bring_together, is_first_here, share_files, spans_machines, tell_machines,
};
pub use collectives::{
    all_gather, all_reduce, all_to_all, barrier, broadcast, end_together, exchange_single_tensor,
    exchange_tensors, gather_grads, post_reduce, reduced, sync_params,
};
pub use file::FileGroup;
pub use group::{
    Arrival, Collective, Inbox, Outbox, Posted, ProcessGroup, Recipient, complete, complete_all,
};
pub use hooks::{Hooks, NoHooks};
pub use placement::Placement;
pub use ranks::Ranks;
pub use slices::all_reduce_in_slices;
pub use tag::Operation;
pub use total::ReduceOp;
