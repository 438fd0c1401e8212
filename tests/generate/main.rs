//! Tests of the graph generators and of the command `generate`.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod support;

#[cfg(feature = "torch")]
mod accuracy;
mod bad_values;
mod command_line;
mod edges;
mod golden_bytes;
mod homophily;
mod independence_of_partitions;
mod nothing_left_behind;
mod occupied_folders;
mod same_bytes;
mod sound_directories;
mod splits;
