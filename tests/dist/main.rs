//! DGL's distributed programming surface on files.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod dgl_tensors;
mod edge_data;
mod embeddings;
mod graph;
mod node_data;
mod splits;
mod support;
mod tensors;
