//! Features, labels and masks as tensors, and the graph that layers run on.

mod edge_features;
mod features;
mod full_graph;
mod labels;
mod node_column;
mod reachable;
mod row_bytes;
mod row_cache;
mod row_reads;
mod row_tables;
mod targets;

pub use edge_features::EdgeFeatures;
pub use features::{NodeFeatures, Normalize};
pub(crate) use features::{filled, is_little};
pub use full_graph::{construct_full_graph, construct_full_hetero_graph};
pub use labels::{
    has_labels, label_columns, labelled_type, labelled_types, load_labels, load_mask, read_mask,
};
pub use node_column::NodeColumn;
pub use reachable::Reachable;
pub use row_bytes::RowBytes;
pub(crate) use row_bytes::RowCounters;
pub use targets::{Targets, load_targets};
