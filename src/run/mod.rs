//! A run from start to end.

pub mod config;
mod configuration;
mod ended_run;
pub mod job;
mod json_file;
mod launch;
mod other_machine;
pub mod plan;
mod prediction;
pub mod rank;
mod run_data;
mod run_record;
mod tensorboard;
mod training_run;
mod turns_file;

pub use ended_run::{EndedRun, Ending, resume_command};
pub use job::{Job, Rank, launch};
pub(crate) use json_file::read_metrics;
pub use launch::connection::{end_everywhere, is_one_of_several, reports};
pub use launch::results_folder::{CONFIG, END, METRICS, PLAN, TURNS};
pub use prediction::predict;
pub use run_data::RunData;
pub use training_run::{resumable, resume, train, train_over};
