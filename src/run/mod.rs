//! A run from start to end.

#[cfg(feature = "torch")]
pub mod config;
#[cfg(feature = "torch")]
mod ended_run;
#[cfg(feature = "torch")]
pub mod job;
pub mod launch;
#[cfg(feature = "torch")]
mod other_machine;
#[cfg(feature = "torch")]
pub mod plan;
#[cfg(feature = "torch")]
mod prediction;
#[cfg(feature = "torch")]
pub mod rank;
#[cfg(feature = "torch")]
mod run_record;
#[cfg(feature = "torch")]
mod tensorboard;
#[cfg(feature = "torch")]
mod training_run;
#[cfg(feature = "torch")]
mod turns_file;

#[cfg(feature = "torch")]
pub use ended_run::{EndedRun, Ending, resume_command};
#[cfg(feature = "torch")]
pub use job::{Job, Rank, launch};
#[cfg(feature = "torch")]
pub use launch::connection::{end_everywhere, is_one_of_several, reports};
#[cfg(feature = "torch")]
pub use launch::results_folder::{CONFIG, END, METRICS, PLAN, TURNS};
#[cfg(feature = "torch")]
pub use prediction::predict;
#[cfg(feature = "torch")]
pub use training_run::{resumable, resume, train, train_over};
