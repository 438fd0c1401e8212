//! A run from start to end.

pub mod config;
pub mod job;
pub mod launch;
pub mod plan;
mod prediction_run;
pub mod rank;
mod training_run;

pub use job::{Job, Rank, launch};
pub use launch::results_folder::{CONFIG, METRICS};
pub use prediction_run::predict;
pub use training_run::{resumable, resume, train, train_over};
