//! Worker processes: fork, supervision, budget, spill folder.

pub(super) mod bounds;
pub(super) mod governor;
pub(super) mod last_checkpoint;
mod marked_folder;
mod memory;
mod out_of_memory;
pub(super) mod reservation;
pub(super) mod results_folder;
mod run_folder;
mod stall;
mod supervise;
pub(crate) mod sweep;
mod threads;
mod worker;
pub(super) mod workers;

pub use run_folder::RunFolder;
pub use sweep::{Swept, sweep};
