//! Tests of the readers and writers of DGL's partition files.
// Helpers outside #[test] functions are tests too.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod manifest;

mod sample_files;
