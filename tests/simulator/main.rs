//! A simulator of disturbed runs. A seed determines a graph, a training run and its faults; the run must end with the
//! undisturbed results, or with one clear error after which `--resume` reaches them.
//!
//! `SAR_SEED=123 cargo test --test simulator` replays a seed. `docs/testing.md` describes the rest.
#![allow(clippy::unwrap_used)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod board;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod call;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod configuration;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod every_call;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod fault;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod graphs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod jobs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod judge;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod outcome;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod process;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod random;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod scene;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod seed;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod self_test;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod session;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trap;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    session::main()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("SKIPPED the simulator: it needs Linux on x86-64");
}
