//! DGL's partition directories: readers for every version since 0.5, and a writer.
//!
//! [`PartitionConfig`] reads the JSON file, [`Partition`] opens one partition. Opening reads headers and node ids;
//! edges and features are streamed. [`graph_file`], [`tensor_file`], [`fused_csc`] and [`npy`] read the files at a
//! lower level. [`writer`] writes directories.

mod arrays;
pub mod config;
mod edge_sample;
mod edges;
mod features;
mod nodes;
mod original_sources;
pub mod partition;
mod structure;
pub mod summary;
mod topology;
pub mod verify;
pub mod writer;

pub use array::ArrayRef;
pub use arrays::{array, npy, tensor_file};
pub(crate) use arrays::{array_file, blocks, file, header, magic, saved_tensors};
pub use config::partition_config::PartitionConfig;
pub use edge_reader::{EdgeReader, InnerEdge};
pub use edge_sample::{EdgeRun, SampledPartition, Spread};
pub use edges::edge_reader;
pub use feature::Feature;
pub use feature_set::FeatureSet;
pub use features::{feature, feature_set};
pub use nodes::original_ids;
pub use original_ids::OriginalIds;
pub use partition::{Partition, open_edge_features, open_node_features};
pub use structure::{fused_csc, graph_file, graph_record, relation, sparse};
pub use summary::PartitionSummary;
pub use verify::directory::verify;
