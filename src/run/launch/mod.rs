//! Worker processes: fork, supervision, budget.

pub(super) mod bounds;
pub(super) mod governor;
pub(super) mod last_checkpoint;
mod memory;
mod out_of_memory;
pub(super) mod reservation;
pub(super) mod results_folder;
mod stall;
mod supervise;
mod threads;
mod worker;
pub(super) mod workers;
