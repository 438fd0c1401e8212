//! The parent process: it forks the workers, watches them, and cleans up after them.
//!
//! It never does a rank's work. Workers are forked before the launcher has a second thread; each is told by the kernel
//! to die with the launcher. The first worker that fails ends the run: the others are asked to stop at their next wait
//! and, after a grace period, killed.

mod governor;
mod last_checkpoint;
mod limits;
mod marked_folder;
mod memory;
mod out_of_memory;
mod plan;
mod predict;
mod relations;
mod reservation;
mod results_folder;
mod run_folder;
mod stall;
mod supervise;
mod sweep;
mod threads;
mod train;
mod worker;
mod workers;

pub use plan::{DiskPlan, EpochPlan, MemoryPlan, Plan, plan};
pub use predict::predict;
pub use run_folder::RunFolder;
pub use sweep::{Swept, sweep};
pub use train::{CONFIG, METRICS, resumable, resume, train, train_over};
