//! Real processes: what happens when they are killed, interrupted, or fail, and which are in memory at a time.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

mod budget;
mod damaged;
mod failures;
mod interrupted;
mod interrupts;
mod kills;
mod limits;
mod modes;
mod paused;
mod reserved;
mod residency;
mod results_folder;
mod resume;
mod run;
mod same_bits;
mod sampled;
mod signals;
mod small_disk;
mod stalled;
mod turns;
