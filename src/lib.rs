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
#[cfg(feature = "torch")]
pub mod load;
#[cfg(feature = "torch")]
pub mod nn;
pub mod platform;
pub mod prepare;
#[cfg(feature = "torch")]
pub mod run;
#[cfg(feature = "torch")]
pub mod sampling;
#[cfg(feature = "torch")]
pub mod testing;
#[cfg(feature = "torch")]
pub mod train;

pub use error::{Error, Result};
