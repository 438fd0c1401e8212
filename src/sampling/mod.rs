//! Sampled neighbourhoods: graph stores, samplers, loaders, distributed tensors and embeddings.

pub mod loaders;
pub mod stores;
