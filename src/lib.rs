#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
//! Out-of-core training of graph neural networks on one machine.

pub mod cli;
pub mod engine;
pub mod error;
pub mod event;
pub mod formats;
pub mod graph;
pub mod io;
pub mod kernels;
pub mod load;
pub mod nn;
pub mod platform;
pub mod prepare;
pub mod run;
pub mod sampling;
pub mod testing;
pub mod train;

pub use error::{Error, Result};
