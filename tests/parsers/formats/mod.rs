//! The formats, each with its initial files and its reader.

mod config;
mod graph;
mod json;
mod npy;
pub(crate) mod parquet;
mod pickle;
mod safetensors;
mod text;
