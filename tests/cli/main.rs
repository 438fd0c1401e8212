//! The command line as a user sees it.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

#[cfg(feature = "torch")]
mod added_nodes;
#[cfg(feature = "torch")]
mod bad_values;
mod clean;
#[cfg(feature = "torch")]
mod closed_outputs;
mod completions;
#[cfg(feature = "torch")]
mod covered_sums;
#[cfg(feature = "torch")]
mod defaults;
#[cfg(feature = "torch")]
mod edge_ranks;
#[cfg(feature = "torch")]
mod evaluation;
#[cfg(feature = "torch")]
mod feature_types;
mod first_pages;
#[cfg(feature = "torch")]
mod first_run;
mod guesses;
#[cfg(feature = "torch")]
mod labelled_rows;
#[cfg(feature = "torch")]
mod link;
#[cfg(feature = "torch")]
mod link_types;
#[cfg(feature = "torch")]
mod log;
#[cfg(feature = "torch")]
mod misuse;
#[cfg(feature = "torch")]
mod models;
#[cfg(feature = "torch")]
mod new_folders;
#[cfg(feature = "torch")]
mod no_effect;
#[cfg(feature = "torch")]
mod num_parts;
#[cfg(feature = "torch")]
mod numeric_flags;
#[cfg(feature = "torch")]
mod original_ids;
#[cfg(feature = "torch")]
mod other_graph;
#[cfg(feature = "torch")]
mod outputs;
#[cfg(feature = "torch")]
mod plan;
#[cfg(feature = "torch")]
mod predict_flags;
#[cfg(feature = "torch")]
mod predict_links;
#[cfg(feature = "torch")]
mod predict_nodes;
#[cfg(feature = "torch")]
mod predictions;
#[cfg(feature = "torch")]
mod readme;
#[cfg(feature = "torch")]
mod report;
#[cfg(feature = "torch")]
mod sampling;
mod statistics;
#[cfg(feature = "torch")]
mod steering;
#[cfg(feature = "torch")]
mod tasks;
#[cfg(feature = "torch")]
mod tensorboard;
#[cfg(feature = "torch")]
mod trace;
#[cfg(feature = "torch")]
mod train_files;
#[cfg(not(feature = "torch"))]
mod without_torch;
