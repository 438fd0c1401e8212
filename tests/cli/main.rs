//! The command line as a user sees it.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod bad_values;
mod clean;
mod closed_outputs;
mod defaults;
mod link;
mod log;
mod misuse;
mod models;
mod new_folders;
mod no_effect;
mod numeric_flags;
mod plan;
mod predictions;
mod readme;
mod sampling;
mod tasks;
