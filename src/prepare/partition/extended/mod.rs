//! A partitioned graph with further nodes and edges, in a partition directory of its own.
//!
//! Known nodes stay in their partitions and in their order; a new node comes to the partition that most of its neighbours are in.

mod additions;
mod edge_data;
mod extend;
mod more_edges;
mod more_nodes;
mod votes;

pub use additions::GraphAdditions;
pub use extend::{ExtendedPartitions, extend_partitions};
