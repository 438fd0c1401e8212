//! Tests of the command `inspect`.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod support;

mod damaged_partitions;
mod headers_only;
mod notes;
mod reports;
mod uneven_features;
mod verified;
