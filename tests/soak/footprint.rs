//! Resources that a run uses at a moment.

use std::fs;
use std::path::Path;

/// Memory of all processes in KiB, their open files, and the bytes of the run's files but its metrics, which grow with every epoch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Footprint {
    memory: u64,
    descriptors: u64,
    disk: u64,
}

/// Growth that is left to allocators and to files that are open for a moment. One file left open at each checkpoint would be ten
/// between the quarters that are compared.
const SLACK: Footprint = Footprint { memory: 4096, descriptors: 8, disk: 64 << 10 };

impl Footprint {
    /// Resources of these processes and folders now. A process that has ended counts nothing.
    pub(crate) fn now(processes: &[u32], folders: &[&Path]) -> Footprint {
        Footprint {
            memory: processes.iter().map(|pid| anonymous(*pid)).sum(),
            descriptors: processes.iter().map(|pid| entries(&format!("/proc/{pid}/fd"))).sum(),
            disk: folders.iter().map(|folder| bytes(folder)).sum(),
        }
    }

    /// The larger of each figure.
    pub(crate) fn max(self, other: Footprint) -> Footprint {
        Footprint {
            memory: self.memory.max(other.memory),
            descriptors: self.descriptors.max(other.descriptors),
            disk: self.disk.max(other.disk),
        }
    }
}

/// The last quarter of a run takes no more than the second: in the first, caches and pools fill.
pub(crate) fn assert_flat(quarters: &[Footprint]) {
    let (second, last) = (quarters[1], quarters[quarters.len() - 1]);
    assert!(last.memory <= second.memory + SLACK.memory, "memory grows: {quarters:?}");
    assert!(last.descriptors <= second.descriptors + SLACK.descriptors, "files: {quarters:?}");
    assert!(last.disk <= second.disk + SLACK.disk, "disk grows: {quarters:?}");
}

fn anonymous(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn entries(folder: &str) -> u64 {
    fs::read_dir(folder).map_or(0, |entries| entries.count() as u64)
}

/// Files may be removed while they are counted.
fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes(&entry.path()),
        Ok(metadata) if entry.file_name() != "metrics.jsonl" => metadata.len(),
        _ => 0,
    });
    sizes.sum()
}
