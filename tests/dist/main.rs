//! DGL's distributed programming surface on files.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod embeddings;
mod graph;
mod splits;
mod support;
mod tensors;
