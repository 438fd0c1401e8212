#![deny(unsafe_code)]
//! Out-of-core training of graph neural networks on one machine.

pub mod error;
pub mod io;
pub mod ipc;

pub use error::{Error, Result};
