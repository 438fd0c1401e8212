#![deny(unsafe_code)]
//! Out-of-core training of graph neural networks on one machine.

pub mod data;
pub mod error;
pub mod graph;
pub mod io;

pub use error::{Error, Result};
