//! Graph data on disk.

pub mod dgl;
