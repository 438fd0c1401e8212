//! From a partition's files to what training works on: shards, features, labels, masks.

mod features;
mod keys;
mod labels;
mod relations;
mod shards;
mod targets;

pub use features::{NodeFeatures, Normalize};
pub use keys::DataKeys;
pub use labels::{load_labels, load_mask};
pub use relations::load_relations;
pub use shards::Shards;
pub use targets::{Targets, load_targets};
