//! The graphs that layers run on.

pub(super) mod block_graph;
mod cover_sums;
pub(super) mod edge_inputs;
mod edge_weight_norm;
mod edges_into;
pub(super) mod exchange;
pub(super) mod full_partition;
pub(super) mod graph;
pub(super) mod graph_shard_manager;
pub(super) mod hetero;
pub(super) mod hetero_block_graph;
pub(super) mod hetero_mfg;
pub(super) mod mfg;
pub(super) mod out_edges;
mod partial_sums;
mod requests;
pub(super) mod row_layout;
