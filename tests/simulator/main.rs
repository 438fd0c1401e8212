//! A simulator of disturbed runs. A seed determines a graph, a training run and its faults; the run must end with the
//! undisturbed results, or with one clear error after which `--resume` reaches them.
//!
//! `SAR_SEED=123 cargo test --test simulator` replays a seed. `docs/src/testing.md` describes the rest.
#![allow(clippy::unwrap_used)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("SKIPPED the simulator: it needs Linux on x86-64");
}
