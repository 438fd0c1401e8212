//! Memory that partitioning may take.

use crate::platform::{free_memory, resident_bytes};
use crate::words::error::{Error, Result};
use crate::words::size::size;

/// Smallest amount of memory in bytes that suffices for any part of the work.
const LEAST: u64 = 48 << 20;

/// Size of all small buffers together, in bytes.
const SMALL: u64 = 32 << 20;

/// Fraction (1 / n) by which the memory that a hint names exceeds what is needed so far: later steps take a little more,
/// and a process does not take the same memory each time it starts.
const OF_LATER: u64 = 16;

/// Assumed free memory in bytes where the system does not report it.
const UNKNOWN: u64 = 1 << 30;

/// Half of the free memory.
pub fn default_memory() -> u64 {
    free_memory().map_or(UNKNOWN, |free| free / 2)
}

/// Memory for buffers: `--memory` less the process and `kept` bytes.
pub(crate) fn left_of(memory: u64, kept: u64) -> Result<u64> {
    let taken = resident_bytes().unwrap_or(0) + kept + SMALL;
    if memory >= taken + LEAST {
        return Ok(memory - taken);
    }
    let problem = format!("{} is too little for this graph", size(memory));
    let hint = format!("pass ‹memory={}MiB› or more", sufficient(taken + LEAST));
    Err(Error::config("memory", problem).with_hint(hint))
}

/// Adds the needed memory to an error, if names lacked memory: they get half of the rest.
pub(super) fn with_memory(error: Error, memory: u64) -> Error {
    let Some(missing) = error.memory_missing() else { return error };
    let needed = sufficient(memory + 2 * missing);
    error.with_hint(format!(
        "pass ‹memory={needed}MiB› or more, or number the nodes in the input files"
    ))
}

/// Memory in MiB for a hint, given the bytes that are known to be needed.
fn sufficient(needed: u64) -> u64 {
    (needed + needed / OF_LATER).div_ceil(1 << 20)
}
