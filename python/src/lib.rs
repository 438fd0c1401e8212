//! The engine behind the Python package `sar_single`: turns, messages, kernels and hibernation on the memory of tensors.
//!
//! Nothing here links libtorch. Python hands over addresses of contiguous tensors, and keeps the tensors alive for the call.
#![deny(unsafe_code)]

mod edge_values;
mod edges;
mod elements;
mod errors;
mod graph;
mod memory;
mod rank;
mod sample;
mod scratch;
mod serve;
mod sleep;

/// The module `sar_single._engine`.
#[pyo3::pymodule]
mod _engine {
    #[pymodule_export]
    use crate::edges::Edges;
    #[pymodule_export]
    use crate::errors::Stopped;
    #[pymodule_export]
    use crate::graph::{Attention, Kept};
    #[pymodule_export]
    use crate::rank::Rank;
    #[pymodule_export]
    use crate::sample::sample;
    #[pymodule_export]
    use crate::serve::{end_with_parent, memory_left, parsed_size, serve, spill_dir};
}
