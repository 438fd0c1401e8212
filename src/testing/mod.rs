//! Tools for tests: ranks as threads, small partitioned graphs, and a check for user-defined layers.

mod check_layer;
mod graph;
mod hetero;
mod outputs;
mod ranks;

pub use check_layer::check_layer;
pub use graph::TestGraph;
pub use hetero::{TestHeteroGraph, hetero_output};
pub use outputs::{assert_near, layer_output, model_output, rows_output};
pub use ranks::{RankContext, on_ranks};
