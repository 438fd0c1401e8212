#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
//! Out-of-core training of graph neural networks on one machine.

pub mod cli;
pub mod comm;
pub mod data;
pub mod datasets;
pub mod dist;
pub mod error;
pub mod event;
pub mod graph;
pub mod imports;
pub mod io;
pub mod ipc;
pub mod kernels;
pub mod launcher;
pub mod loader;
pub mod nn;
pub mod partition;
pub mod signals;
pub mod spill;
pub mod tape;
mod tensor;
pub mod testing;
pub mod train;
pub mod worker;

pub use error::{Error, Result};
