//! Parsers and mutated files: no file may make them panic, hang, take memory out of proportion, or blame anything but the file.
//!
//! One test per format. `docs/src/testing.md` describes how to run more inputs, and how to reproduce a failure.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod archive;
mod campaign;
mod consume;
mod coverage;
mod dice;
mod folder;
mod formats;
mod found;
mod guard;
mod mutate;
mod watchdog;
