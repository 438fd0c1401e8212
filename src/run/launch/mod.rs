//! Worker processes: fork, supervision, budget.

#[cfg(feature = "torch")]
pub(super) mod bounds;
#[cfg(feature = "torch")]
mod carriage;
#[cfg(feature = "torch")]
pub(super) mod connection;
mod governor;
#[cfg(feature = "torch")]
pub(super) mod last_checkpoint;
pub(super) mod limits;
mod listeners;
mod memory;
mod out_of_memory;
#[cfg(feature = "torch")]
pub(in crate::run) mod outputs;
mod progress_meter;
mod record;
#[cfg(feature = "torch")]
pub(super) mod reservation;
#[cfg(feature = "torch")]
pub(super) mod results_folder;
#[cfg(feature = "torch")]
mod run_link;
mod stall;
mod supervise;
#[cfg(feature = "torch")]
pub(super) mod this_machine;
#[cfg(feature = "torch")]
mod threads;
mod worker;
mod worker_bounds;
#[cfg(feature = "torch")]
pub(super) mod workers;

pub use limits::{LeastMemory, Limits};
pub use record::EventRecord;
pub use supervise::{Fork, Supervision, fork_plainly, supervise};
pub use worker_bounds::WorkerBounds;
