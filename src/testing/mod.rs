//! Ranks as threads, small partitioned graphs, and a check for layers of your own: what tests stand on.

mod check_layer;
mod graph;
mod ranks;

pub use check_layer::check_layer;
pub use graph::TestGraph;
pub use ranks::{RankContext, on_ranks};
