//! DGL's partition directories: readers for every version since 0.5, and a writer.
//!
//! [`PartitionConfig`] reads the JSON file, [`Partition`] opens one partition. Opening reads headers and node ids;
//! edges and features are streamed. [`graph_file`], [`tensor_file`], [`fused_csc`] and [`npy`] read the files at a
//! lower level. [`writer`] writes directories.

pub mod array;
pub(crate) mod array_file;
pub(crate) mod blocks;
pub mod config;
pub mod edge_block;
mod edge_columns;
mod edge_ids;
mod edge_numbers;
pub mod edge_reader;
mod edge_sample;
mod entry_stream;
pub mod feature;
pub mod feature_set;
pub(crate) mod file;
mod finite_rows;
pub mod fused_csc;
pub mod graph_file;
pub mod graph_record;
mod graph_v1;
pub(crate) mod header;
mod local_graph;
pub(crate) mod magic;
mod ndarray;
mod node_table;
pub mod npy;
pub mod original_ids;
mod original_sources;
pub mod partition;
mod pickle;
mod pickle_value;
mod relabel;
pub mod relation;
pub(crate) mod saved_tensors;
pub mod sparse;
mod structure_file;
pub mod summary;
pub mod tensor_file;
mod topology;
mod torch_archive;
pub mod verify;
pub mod writer;

pub use array::ArrayRef;
pub use config::partition_config::PartitionConfig;
pub use edge_block::{EdgeBlock, InnerEdge};
pub use edge_reader::EdgeReader;
pub use edge_sample::{EdgeRun, SampledPartition, Spread};
pub use feature::Feature;
pub use feature_set::FeatureSet;
pub use original_ids::OriginalIds;
pub use partition::{Partition, open_edge_features, open_node_features};
pub use summary::PartitionSummary;
pub use verify::directory::verify;
