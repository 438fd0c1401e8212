//! A partition's edges: read in blocks, with their ids and columns.

pub(in crate::formats::dgl) mod edge_columns;
pub(in crate::formats::dgl) mod edge_ids;
pub(in crate::formats::dgl) mod edge_numbers;
pub mod edge_reader;
