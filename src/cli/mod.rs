//! The command line: one file per command.

mod arguments;
mod clean;
mod generate;
mod inspect;
mod model;
mod output;
mod partition_tables;
mod predict;
mod sampling;
mod table;
mod train;

pub use arguments::run;
