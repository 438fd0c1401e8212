//! Batches of sampled neighbourhoods: SAR's `DistNeighborSampler` and `DataLoader`, DGL's `DistNodeDataLoader` and
//! `DistEdgeDataLoader`.

mod batches;
mod config;
mod data_loader;
mod edge_batch;
mod edge_loader;
mod mini_batch;
mod negatives;
mod neighbor_sampler;
mod schedule;

pub use batches::Batches;
pub use config::DataLoaderConfig;
pub use data_loader::{DataLoader, DistNodeDataLoader};
pub use edge_batch::{EdgeBatch, Pairs};
pub use edge_loader::{DistEdgeDataLoader, Exclude, ReverseEdge};
pub use mini_batch::MiniBatch;
pub use negatives::NegativeSampler;
pub use neighbor_sampler::DistNeighborSampler;
