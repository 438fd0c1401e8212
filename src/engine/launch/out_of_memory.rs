//! Detection of processes that the kernel has killed because memory ran out.

use crate::platform::MemoryGroups;
use crate::words::size::size;

/// Counts that the kernel had at the start of a run.
pub(super) struct OutOfMemory {
    kills: Option<u64>,
}

impl OutOfMemory {
    /// Reads the counts at the start of a run.
    pub(super) fn watch() -> Self {
        OutOfMemory { kills: MemoryGroups::of_this_process().kills() }
    }

    /// The place where memory has run out since then, as the end of a sentence: in the control group with its limit, or
    /// on the machine; `None` if it has not, or if the system does not report it.
    pub(super) fn has_run_out(&self) -> Option<String> {
        let groups = MemoryGroups::of_this_process();
        if groups.kills()? <= self.kills? {
            return None;
        }
        Some(groups.container_limit().map_or_else(
            || "on the machine".to_owned(),
            |limit| format!("in the container, whose limit is {}", size(limit)),
        ))
    }
}
