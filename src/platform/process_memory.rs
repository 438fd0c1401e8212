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
    Pages::of("self").map(|pages| pages.anonymous + pages.files)
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
        listed_bytes(&self.0, name).unwrap_or(0)
    }
}

/// Bytes of memory that only the processes take that a process's main thread has started, with those that they have
/// started. Pages that they share with it count with it alone.
pub(crate) fn bytes_of_children(process: &str) -> u64 {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let own = |child: &str| {
        let rollup = Rollup::of(child);
        rollup.bytes("Private_Clean:") + rollup.bytes("Private_Dirty:") + bytes_of_children(child)
    };
    children.unwrap_or_default().split_whitespace().map(own).sum()
}

/// Peak of a process's anonymous memory in bytes. `process` is an id or `self`. `None` if the system does not report
/// it, or the process has ended.
///
/// The kernel keeps only the peak of all pages. Pages of files stay once mapped, so their present size is also their
/// size at the peak.
pub fn peak_anonymous_bytes(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let bytes = |name| listed_bytes(&status, name);
    Some(bytes("VmHWM:")?.saturating_sub(bytes("RssFile:")? + bytes("RssShmem:")?))
}

/// The number of bytes on the line that begins with `name`, such as `MemTotal:`, of a file in `/proc`.
pub(crate) fn listed_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Resets [`peak_anonymous_bytes`] and returns its new value. `None` where the system cannot do so.
pub fn reset_peak() -> Option<u64> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    peak_anonymous_bytes("self")
}
