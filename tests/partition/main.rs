//! Tests of the command `partition`.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;
mod split_and_lists;
mod support;
mod tables;

mod archives;
mod as_they_are;
mod bad_input;
mod bad_rows;
mod balance;
mod by_hand;
#[cfg(feature = "torch")]
mod class_names;
mod columns;
mod dgl;
mod disk_space;
mod drawn_splits;
mod exported;
mod formats;
mod hostile_input;
mod lists;
mod matrices;
mod node_order;
mod node_tables;
mod nothing_left_behind;
#[cfg(feature = "torch")]
mod original_order;
mod quality;
mod relations;
mod repartitioned;
mod same_bytes;
mod shifted_rows;
mod triples;
mod verified;
