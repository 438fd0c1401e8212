//! The graph's structure: partition graphs in all formats of DGL.

pub(in crate::formats::dgl) mod entry_stream;
pub mod fused_csc;
pub mod graph_file;
pub mod graph_record;
pub(in crate::formats::dgl) mod graph_v1;
pub(in crate::formats::dgl) mod local_graph;
pub mod relation;
pub mod sparse;
pub(in crate::formats::dgl) mod structure_file;
