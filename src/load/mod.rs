//! Data that a rank loads from its partition: shards, features, labels, masks.

mod edge_split;
mod edges_within;
mod fingerprint;
mod kept_arrays;
mod keys;
mod original_order;
mod relations;
mod shards;
mod target_edges;
#[cfg(feature = "torch")]
mod tensors;

pub use edge_split::{EdgeSplit, EdgeUse};
pub use edges_within::{etypes_within, load_edges_within};
pub use fingerprint::{GraphFingerprint, file_sum, ids_sum};
pub use kept_arrays::KeptArrays;
pub use keys::DataKeys;
pub(crate) use keys::{FEATURE_NAMES, LABEL_NAMES, MASKS};
pub use original_order::{check_original_order, original_ids, original_places};
pub use relations::load_relations;
pub(crate) use shards::edge_columns;
pub use shards::{EdgeData, Shards};
pub use target_edges::TargetEdges;
#[cfg(feature = "torch")]
pub use tensors::{
    EdgeFeatures, NodeColumn, NodeFeatures, Normalize, Reachable, RowBytes, Targets,
    construct_full_graph, construct_full_hetero_graph, has_labels, label_columns, labelled_type,
    labelled_types, load_labels, load_mask, load_targets, read_mask,
};
#[cfg(feature = "torch")]
pub(crate) use tensors::{RowCounters, filled, is_little};
