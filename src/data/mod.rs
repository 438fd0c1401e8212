//! Graph data on disk, and how a rank takes up its part of it.

pub mod dgl;
mod load;

pub use load::{DataKeys, NodeFeatures, Normalize, Shards, load_labels, load_mask};
