//! The command line: one file per command, in `graphs` or `runs`.

mod arguments;
mod clean;
mod flags;
mod graphs;
mod help;
#[cfg(feature = "torch")]
mod runs;
mod show;
mod signals;
#[cfg(not(feature = "torch"))]
#[warn(dead_code, unused_imports)]
mod without_torch;

#[cfg(feature = "torch")]
pub use arguments::configuration;
pub use arguments::{definition, run, run_from};
#[cfg(feature = "torch")]
pub use runs::{configuration_flags::flags, setting::Flag};
