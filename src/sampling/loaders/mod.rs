//! Batches of sampled neighbourhoods: SAR's `DistNeighborSampler` and `DataLoader`, DGL's `DistNodeDataLoader` and
//! `DistEdgeDataLoader`.

mod batches;
mod config;
mod data_loader;
mod edge_loader;
mod graph;
mod mini_batch;
mod negatives;
mod neighbor_sampler;
mod schedule;
mod seed_loader;

pub use batches::Batches;
pub use config::DataLoaderConfig;
pub use data_loader::{DataLoader, DistNodeDataLoader, NodeTask};
pub use edge_loader::{DistEdgeDataLoader, EdgeMiniBatch, EdgeTask, Exclude, Pairs, ReverseEdge};
pub use graph::SampledGraph;
pub use mini_batch::MiniBatch;
pub use negatives::NegativeSampler;
pub use neighbor_sampler::{DistNeighborSampler, SampleFrontier};
pub use seed_loader::{Loader, LoaderTask, NeighborTask};
