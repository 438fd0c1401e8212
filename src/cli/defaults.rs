//! What is taken where a flag is not given.

use std::path::{Path, PathBuf};

/// All cores this process may use.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The first of runs/GRAPH-1, runs/GRAPH-2, ... that does not exist.
pub(super) fn out(graph: &str) -> PathBuf {
    let candidates = (1..).map(|n: u32| Path::new("runs").join(format!("{graph}-{n}")));
    let mut free = candidates.filter(|path| !path.exists());
    free.next().unwrap_or_else(|| PathBuf::from("runs"))
}

/// Spilled data belong on a disk; /tmp is often in memory, /var/tmp never is.
pub(super) fn spill_dir() -> PathBuf {
    std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}
