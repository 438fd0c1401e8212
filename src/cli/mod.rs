//! The command line.

mod arguments;
mod train;

pub use arguments::run;
