//! The simulator on the only system whose calls it can intercept: Linux on x86-64.

mod board;
mod call;
mod configuration;
mod every_call;
mod fault;
mod graphs;
mod jobs;
mod judge;
mod machines;
mod outcome;
mod pausing;
mod process;
mod random;
mod scene;
mod seed;
mod self_test;
mod session;
mod trap;

pub(crate) use session::main;
