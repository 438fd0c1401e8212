//! What a rank loads from its partition: shards, features, labels, masks.

mod edge_features;
mod edge_split;
mod features;
mod keys;
mod labels;
mod node_column;
mod original_order;
mod reachable;
mod relations;
mod row_bytes;
mod row_cache;
mod shards;
mod targets;

pub use edge_features::EdgeFeatures;
pub use edge_split::{EdgeSplit, EdgeUse};
pub use features::{NodeFeatures, Normalize};
pub use keys::DataKeys;
pub use labels::{label_columns, labelled_type, load_labels, load_mask};
pub use node_column::NodeColumn;
pub use original_order::{check_original_order, original_places};
pub use reachable::Reachable;
pub use relations::load_relations;
pub use row_bytes::RowBytes;
pub(crate) use shards::edge_columns;
pub use shards::{EdgeData, Shards};
pub use targets::{Targets, load_targets};
