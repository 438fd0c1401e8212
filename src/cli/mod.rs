//! The command line: one file per command.

mod arguments;
mod clean;
mod generate;
mod inspect;
mod output;
mod partition_tables;
mod predict;
mod sampling;
mod table;
mod train;

pub use arguments::run;
