//! A run's workers: their machine, folders and bounds.

pub(super) mod bounds;
mod carriage;
pub(super) mod connection;
pub(super) mod last_checkpoint;
pub(in crate::run) mod outputs;
pub(super) mod reservation;
pub(super) mod results_folder;
mod run_link;
pub(super) mod this_machine;
pub(super) mod workers;
