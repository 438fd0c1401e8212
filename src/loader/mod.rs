//! Batches of sampled neighbourhoods: what SAR's `DistNeighborSampler` and `DataLoader` do.

mod batches;
mod config;
mod data_loader;
mod mini_batch;
mod neighbor_sampler;

pub use batches::Batches;
pub use config::DataLoaderConfig;
pub use data_loader::DataLoader;
pub use mini_batch::MiniBatch;
pub use neighbor_sampler::DistNeighborSampler;
