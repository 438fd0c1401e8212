//! The command line: one file per command.

mod arguments;
mod clean;
mod correct_and_smooth;
mod evaluation;
mod generate;
mod inspect;
mod link;
mod model;
mod output;
mod partition;
mod partition_report;
mod partition_tables;
mod plan;
mod predict;
mod resume;
mod sampling;
mod schedule;
mod signals;
mod table;
mod train;

pub use arguments::{definition, run, run_from};
