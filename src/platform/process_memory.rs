//! How much memory a process uses.

use std::fs;

/// A process's pages in memory, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pages {
    /// Anonymous memory, including pages still shared with the process that forked it.
    pub(crate) anonymous: u64,
    /// Pages of files, such as code.
    pub(crate) files: u64,
}

impl Pages {
    /// The pages of a process, an id or `self`. `None` if the system does not report them, or the process has ended.
    ///
    /// Costs microseconds, because the kernel counts these pages anyway.
    pub(crate) fn of(process: &str) -> Option<Self> {
        let statm = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
        let mut pages = statm.split_whitespace().skip(1).map(str::parse::<u64>);
        let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
        let page = rustix::param::page_size() as u64;
        Some(Pages { anonymous: resident.saturating_sub(shared) * page, files: shared * page })
    }
}

/// Bytes of a process's anonymous memory, including pages still shared with the process that forked it.
pub fn anonymous_bytes(process: &str) -> Option<u64> {
    Pages::of(process).map(|pages| pages.anonymous)
}

/// Bytes of this process in memory, including files and shared pages. `None` if the system does not report it.
pub fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let resident: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(resident * rustix::param::page_size() as u64)
}

/// Bytes of memory that a process (its id, or `self`) takes; a page shared by n processes counts 1/n. 0 if the system
/// does not report it, or the process has ended.
///
/// Costs milliseconds to walk page tables.
pub fn proportional_bytes(process: &str) -> u64 {
    Rollup::of(process).bytes("Pss:")
}

/// Sums over all mappings of a process.
pub(crate) struct Rollup(String);

impl Rollup {
    pub(crate) fn of(process: &str) -> Self {
        Rollup(fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default())
    }

    /// The sum with a name; 0 if absent.
    pub(crate) fn bytes(&self, name: &str) -> u64 {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|text| text.trim().strip_suffix("kB")?.trim().parse().ok());
        kib.unwrap_or(0_u64) << 10
    }
}

/// Peak of a process's anonymous memory in bytes. `process` is an id or `self`. `None` if the system does not report
/// it, or the process has ended.
///
/// The kernel keeps only the peak of all pages. Pages of files stay once mapped, so their present size is also their
/// size at the peak.
pub fn peak_anonymous_bytes(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some(kib("VmHWM:")?.saturating_sub(kib("RssFile:")? + kib("RssShmem:")?) << 10)
}

/// Resets [`peak_anonymous_bytes`] and returns its new value. `None` where the system cannot do so.
pub fn reset_peak() -> Option<u64> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    peak_anonymous_bytes("self")
}
