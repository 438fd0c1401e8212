//! Graph data on disk, and how a rank takes up its part of it.

pub mod dgl;
mod load;
mod original_order;

pub(crate) use load::edge_columns;
pub use load::{
    DataKeys, EdgeData, EdgeFeatures, EdgeSplit, EdgeUse, NodeColumn, NodeFeatures, Normalize,
    Reachable, RowBytes, Shards, Targets, label_columns, labelled_type, load_labels, load_mask,
    load_relations, load_targets,
};
pub use original_order::{check_original_order, original_places};
