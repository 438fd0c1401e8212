//! Tests of the readers and writers of DGL's partition files.
// Helpers outside #[test] functions are also tests.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod manifest;
mod support;

mod contradictions;
mod feature_lookup;
mod fixtures;
mod golden_partitions;
mod graphbolt_partitions;
mod json_forms;
mod large_ids;
mod original_ids;
mod other_orders;
mod sample_files;
mod sample_partitions;
mod unshuffled_partitions;
mod writer_discipline;
mod written_bytes;
mod written_directories;
mod wrong_files;
