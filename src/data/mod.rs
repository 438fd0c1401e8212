//! Graph data on disk, and how a rank takes up its part of it.

pub mod dgl;
mod load;

pub use load::{
    DataKeys, NodeFeatures, Normalize, Shards, Targets, load_labels, load_mask, load_relations,
    load_targets,
};
