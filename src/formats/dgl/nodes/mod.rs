//! A partition's nodes: their ids, and the ids that they had before partitioning.

pub(in crate::formats::dgl) mod node_table;
pub mod original_ids;
pub(in crate::formats::dgl) mod relabel;
