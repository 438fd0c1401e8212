//! How much memory there is and how much is taken.

use std::fs;

use super::child::peak_of_children;
use crate::error::{Error, Result};
use crate::event::size;
use crate::platform::free_memory;

/// Below this no part of the work is sensible.
const LEAST: u64 = 48 << 20;

/// What small buffers take together.
const SMALL: u64 = 32 << 20;

/// Where the system does not say what is free.
const UNKNOWN: u64 = 1 << 30;

/// Half of the memory that is free.
pub fn default_memory() -> u64 {
    free_memory().map_or(UNKNOWN, |free| free / 2)
}

/// The most memory that partitioning has taken in one process, in bytes, if the system tells.
pub fn peak_memory() -> Option<u64> {
    own_peak().map(|own| own.max(peak_of_children()))
}

/// The most memory that this process has taken.
pub(super) fn own_peak() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// What is left of `--memory` for buffers, when the process and `kept` bytes are subtracted.
pub(super) fn left_of(memory: u64, kept: u64) -> Result<u64> {
    let taken = field("/proc/self/status", "VmRSS:").unwrap_or(0) + kept + SMALL;
    if memory >= taken + LEAST {
        return Ok(memory - taken);
    }
    let problem = format!("{} is too little for this graph", size(memory));
    let needed = (taken + LEAST).div_ceil(1 << 20);
    Err(Error::config("--memory", problem).with_hint(format!("pass --memory {needed}MiB or more")))
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}
