//! Tests of the readers and writers of DGL's partition files.
// Helpers outside #[test] functions are tests too.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod manifest;
mod support;

mod golden_partitions;
mod graphbolt_partitions;
mod original_ids;
mod sample_files;
mod sample_partitions;
mod unshuffled_partitions;
mod written_bytes;
