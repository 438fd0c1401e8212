#![deny(unsafe_code)]
// What only training uses is found unused by the build with it.
#![cfg_attr(not(feature = "torch"), allow(dead_code, unused_imports))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
//! Out-of-core training of graph neural networks on one machine.
//!
//! A graph is cut into partitions, each partition has a worker process, and only some of the workers are in memory at a time.
//! [`prepare`] cuts graphs and `run` trains on them, as the command line does:
//!
//! ```
//! # #[cfg(feature = "torch")] {
//! use sar::event::{Event, Metric};
//! use sar::nn::ModelConfig;
//! use sar::run;
//! use sar::run::config::RunConfig;
//!
//! let folder = tempfile::tempdir().expect("a folder");
//! let mut config = RunConfig::new("data/karate/karate.json", folder.path());
//! config.model = ModelConfig { layers: 2, hidden: 16, ..ModelConfig::default() };
//! config.epochs = 60;
//! let mut accuracy = None;
//! run::train(&config, &mut |event| {
//!     if let Event::Evaluation(report) = event {
//!         accuracy = report.scores(Metric::Accuracy).and_then(|scores| scores.test);
//!     }
//! })?;
//! assert!(accuracy > Some(0.8));
//! assert!(folder.path().join("model.safetensors").exists());
//! # }
//! # Ok::<(), sar::Error>(())
//! ```
//!
//! Layers are structs with parameters. They run on a graph in one piece or in partitions, and compute the same numbers:
//!
//! ```
//! # #[cfg(feature = "torch")] {
//! use sar::engine::tape::Reduce;
//! use sar::nn::{GinConv, GinConvConfig, Linear};
//! use sar::testing::{TestGraph, assert_near, layer_output};
//!
//! let config = GinConvConfig { reduce: Reduce::Sum, learn_eps: false, edge_weights: false };
//! let features: [&[f64]; 3] = [&[1.0], &[2.0], &[4.0]];
//! for cuts in [&[][..], &[1], &[1, 2]] {
//!     // 0 -> 2 and 1 -> 2
//!     let graph = TestGraph::of(3, &[[0, 2], [1, 2]], cuts);
//!     let rows = layer_output(&graph, &features, &[("apply_func.weight", &[10.0])], |p| {
//!         GinConv::new(p, |p| Linear::new(p, 1, 1), config)
//!     })?;
//!     assert_near(&rows, &[10.0, 20.0, 70.0]);
//! }
//! # }
//! # Ok::<(), sar::Error>(())
//! ```
//!
//! The book in `docs/` has concepts and guides; `ARCHITECTURE.md` gives the purpose of each module.

#[cfg(feature = "torch")]
pub use tch;

pub mod cli;
pub mod engine;
pub mod event;
pub mod formats;
pub mod graph;
pub mod io;
pub mod kernels;
pub mod load;
#[cfg(feature = "torch")]
pub mod nn;
pub mod platform;
pub mod prepare;
#[cfg(feature = "torch")]
pub mod report;
#[cfg(feature = "torch")]
pub mod run;
#[cfg(feature = "torch")]
pub mod sampling;
#[cfg(feature = "torch")]
pub mod testing;
#[cfg(feature = "torch")]
pub mod train;
pub mod words;

pub use words::error::{Error, ErrorKind, Result};
