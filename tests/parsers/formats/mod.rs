//! The formats, each with its files to start from and what reads them.

mod config;
mod graph;
mod json;
mod npy;
pub(crate) mod parquet;
mod pickle;
mod safetensors;
mod text;
