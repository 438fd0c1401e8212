//! Sampled neighbourhoods: what is drawn, with which frequency, and that models compute the same on blocks as on the full
//! graph.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/tensor_files.rs"]
mod tensor_files;

mod edges;
mod frequencies;
mod full_neighbours;
mod hetero;
mod hetero_links;
mod inputs;
mod link_scores;
mod loader;
mod logits;
mod optimized;
mod own_sampling;
mod rows;
mod sources;
mod support;
mod training;
