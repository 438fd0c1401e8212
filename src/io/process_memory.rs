//! How much memory a process has.

use std::fs;

/// Bytes of memory that a process (its id, or `self`) has of its own: anonymous pages, those it still shares with the
/// process it was forked from included. `None` where the system does not say, or the process is gone.
///
/// The kernel counts these pages anyway, so that this costs microseconds.
pub fn anonymous_bytes(process: &str) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let mut pages = statm.split_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
}
