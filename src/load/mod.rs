//! Data that a rank loads from its partition: shards, features, labels, masks.

#[cfg(feature = "torch")]
mod assigned_column;
#[cfg(feature = "torch")]
mod assigned_edges;
#[cfg(feature = "torch")]
mod edge_features;
mod edge_split;
mod edges_within;
#[cfg(feature = "torch")]
mod features;
mod fingerprint;
#[cfg(feature = "torch")]
mod full_graph;
mod kept_arrays;
mod keys;
#[cfg(feature = "torch")]
mod labels;
#[cfg(feature = "torch")]
mod node_column;
mod original_order;
#[cfg(feature = "torch")]
mod reachable;
mod relations;
#[cfg(feature = "torch")]
mod row_bytes;
#[cfg(feature = "torch")]
mod row_cache;
#[cfg(feature = "torch")]
mod row_reads;
mod shards;
mod target_edges;
#[cfg(feature = "torch")]
mod targets;

#[cfg(feature = "torch")]
pub use edge_features::EdgeFeatures;
pub(crate) use edge_split::MASKS;
pub use edge_split::{EdgeSplit, EdgeUse};
pub use edges_within::{etypes_within, load_edges_within};
#[cfg(feature = "torch")]
pub use features::{NodeFeatures, Normalize};
pub use fingerprint::GraphFingerprint;
#[cfg(feature = "torch")]
pub use full_graph::construct_full_graph;
pub use kept_arrays::KeptArrays;
pub use keys::DataKeys;
pub(crate) use keys::LABEL_NAMES;
#[cfg(feature = "torch")]
pub use labels::{
    has_labels, label_columns, labelled_type, labelled_types, load_labels, load_mask, read_mask,
};
#[cfg(feature = "torch")]
pub use node_column::NodeColumn;
pub use original_order::{check_original_order, original_ids, original_places};
#[cfg(feature = "torch")]
pub use reachable::Reachable;
pub use relations::load_relations;
#[cfg(feature = "torch")]
pub use row_bytes::RowBytes;
#[cfg(feature = "torch")]
pub(crate) use shards::edge_columns;
pub use shards::{EdgeData, Shards};
pub use target_edges::TargetEdges;
#[cfg(feature = "torch")]
pub use targets::{Targets, load_targets};
