//! The engine behind the Python package `sar_single`: turns, messages, kernels and hibernation on the memory of tensors.
//!
//! Nothing here links libtorch. Python hands over addresses of contiguous tensors, and keeps the tensors alive for the call.
//!
//! A server process imports torch, opens the partitions and forks a worker per partition (`serve`),
//! which the library supervises like the workers of `sar-single`. `rank` offers a worker the
//! operations along edges; `graph/functions.py` and `graph/attention.py` make autograd functions of them. In
//! `sar_single/pyg`, stand-ins for `edge_index` find out what a module's message is (`traced`),
//! refuse messages that relate edges to one another (`apart`), give those that the engine knows to
//! it (`fused`, `attention`), and compute the others in blocks of destinations (`blocks`). Random
//! draws are functions of keys that no partitioning changes (`graph/keys.py`). `worker/collectives.py` notes
//! the user's line of each collective in a file that all ranks of a run share. Samples come from an
//! index of in-edges that is written once per run (`stored/stored.py`, `stored/edge_index.py`); loaders and
//! `sar_single.dist` read it.
//!
//! A pause puts the process to `sleep`. Memory that is moved may be the heap itself, so nothing is
//! allocated between a write and its mapping.
#![deny(unsafe_code)]

mod command;
mod edges;
mod elements;
mod errors;
mod files;
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
    use crate::command::command;
    #[pymodule_export]
    use crate::edges::Edges;
    #[pymodule_export]
    use crate::errors::Stopped;
    #[pymodule_export]
    use crate::files::Files;
    #[pymodule_export]
    use crate::graph::{Attention, Kept};
    #[pymodule_export]
    use crate::rank::Rank;
    #[pymodule_export]
    use crate::sample::{group_seeds, sample};
    #[pymodule_export]
    use crate::serve::{
        end_with_parent, memory_left, parsed_size, process_forked, serve, spill_dir,
    };
}
