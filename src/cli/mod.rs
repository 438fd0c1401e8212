//! The command line: one file per command.

mod arguments;
mod clean;
mod predict;
mod train;

pub use arguments::run;
