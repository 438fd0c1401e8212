//! A run from start to end.

pub mod config;
pub mod job;
pub mod launch;
pub mod plan;
mod prediction;
pub mod rank;
mod training;

pub use job::{Job, Rank, launch};
pub use launch::results_folder::{CONFIG, METRICS};
pub use prediction::predict;
pub use training::{resumable, resume, train, train_over};
