//! Uninterruptible work, done in a process that can be killed.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use crate::platform::{fork, listed_bytes, signals};
use crate::words::error::{Error, Result};

/// Intervals for polling the child, at first and later.
const SHORT: Duration = Duration::from_micros(100);
const LONG: Duration = Duration::from_millis(10);

/// Exit code of a child without memory for its results.
const NOT_WRITTEN: u8 = u8::MAX;

/// Largest memory of a child so far, in bytes.
static PEAK: AtomicU64 = AtomicU64::new(0);

/// Result of a child.
pub(super) struct Outcome {
    /// Exit code, or [`NOT_WRITTEN`] if the child had no memory for its results; `None` if it was killed.
    pub(super) code: Option<u8>,
    /// Values that the child has filled.
    pub(super) values: Vec<i32>,
}

/// Fills `count` values in a forked process, which has its own signal handlers, random numbers and memory: METIS
/// handles SIGTERM itself, and draws from the C library's random numbers. `work` returns the exit code, and may only
/// compute: see [`fork()`].
pub(super) fn in_child(
    what: &str,
    count: usize,
    work: impl FnOnce(&mut [i32]) -> u8,
) -> Result<Outcome> {
    let failed = |e: std::io::Error| Error::io("pass results of", Path::new(what), e);
    // The values, and the child's peak of memory, in a memory file that vanishes with its last descriptor.
    let results = memfd_create(what, MemfdFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
    let results = File::from(results);
    let end = (count * size_of::<i32>()) as u64;
    let child = fork("a process for METIS", || {
        let mut values = vec![0; count];
        let code = work(&mut values);
        let peak = own_peak().unwrap_or(0).to_le_bytes();
        let written = results
            .write_all_at(bytemuck::cast_slice(&values), 0)
            .and_then(|()| results.write_all_at(&peak, end));
        written.map_or(NOT_WRITTEN, |()| code)
    })?;
    let code = wait(child)?.exit_status().map(|code| code as u8);
    let mut values = vec![0; count];
    if code.is_some_and(|code| code != NOT_WRITTEN) {
        let mut peak = [0; size_of::<u64>()];
        let read = results
            .read_exact_at(bytemuck::cast_slice_mut(&mut values), 0)
            .and_then(|()| results.read_exact_at(&mut peak, end));
        read.map_err(failed)?;
        PEAK.fetch_max(u64::from_le_bytes(peak), Ordering::Relaxed);
    }
    Ok(Outcome { code, values })
}

fn wait(child: Pid) -> Result<WaitStatus> {
    let mut pause = SHORT;
    loop {
        let ended = waitpid(Some(child), WaitOptions::NOHANG);
        let ended = ended.map_err(|e| Error::io("wait for", Path::new("METIS"), e.into()))?;
        if let Some((_, status)) = ended {
            signals::check()?;
            return Ok(status);
        }
        if signals::received() {
            // This fails only if the child has just ended on its own, which the next poll shows.
            let _ = kill_process(child, Signal::KILL);
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(LONG);
    }
}

/// Largest memory in bytes that partitioning has taken in one process, if the system reports it.
pub fn peak_memory() -> Option<u64> {
    own_peak().map(|own| own.max(PEAK.load(Ordering::Relaxed)))
}

/// Largest memory in bytes that this process has taken.
fn own_peak() -> Option<u64> {
    listed_bytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}
