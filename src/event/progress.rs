//! Progress of a run inside an epoch.

use serde::{Deserialize, Serialize};

use crate::words::size::size;

/// Progress of a run at a moment, as the launcher sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunProgress {
    /// The current epoch, from 1; 0 before the first.
    pub epoch: u32,
    /// Phase of the rank that is furthest ahead.
    pub phase: String,
    /// Number of ranks that have done their part of the phase.
    pub ranks_done: usize,
    /// Number of ranks.
    pub ranks: usize,
    /// Estimated share of the epoch that is done.
    pub share: f64,
    /// Bytes that all ranks have written and read in this epoch, up to the last pause of each.
    pub bytes: u64,
    /// Bytes of memory that all processes take.
    pub memory_bytes: u64,
    /// The memory budget in bytes; 0 means as little as possible.
    pub budget_bytes: u64,
    /// Seconds since the epoch began.
    pub epoch_s: f64,
    /// Forecast of the seconds until the run ends.
    pub left_s: Option<f64>,
    /// Whether the run is paused, or about to be.
    pub paused: bool,
}

impl RunProgress {
    /// The progress for people, without the epoch.
    pub(super) fn describe(&self) -> String {
        let left = self.left_s.map_or_else(String::new, |left| format!(", {} left", time(left)));
        self.describe_work() + &left
    }

    /// The progress for people, without the epoch, beginning with the parts for a narrow terminal.
    pub(super) fn describe_time_first(&self) -> String {
        let left = self.left_s.map_or_else(String::new, |left| format!("{} left, ", time(left)));
        left + &self.describe_work()
    }

    fn describe_work(&self) -> String {
        let RunProgress { phase, ranks_done, ranks, bytes, memory_bytes, budget_bytes, .. } = self;
        let paused = if self.paused { "paused in " } else { "" };
        let budget = match budget_bytes {
            0 => String::new(),
            budget => format!(" of {}", size(*budget)),
        };
        format!(
            "{paused}{phase}, {ranks_done} of {ranks} workers, {} moved, {}{budget} memory",
            size(*bytes),
            size(*memory_bytes)
        )
    }
}

/// Formats the seconds that something took, for people.
pub fn duration(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { time(seconds) }
}

/// Formats seconds for people.
pub fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..100 => format!("{whole} s"),
        100..6000 => format!("{} min", whole.div_ceil(60)),
        360_000.. => format!("{} h", whole / 3600),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_names_phase_workers_bytes_memory_and_time() {
        let progress = RunProgress {
            epoch: 3,
            phase: "forward of layer 1".to_owned(),
            ranks_done: 5,
            ranks: 16,
            share: 0.25,
            bytes: 3 << 30,
            memory_bytes: 1 << 30,
            budget_bytes: 2 << 30,
            epoch_s: 12.0,
            left_s: Some(185.0),
            paused: false,
        };
        let text = "forward of layer 1, 5 of 16 workers, 3.00 GiB moved, 1.00 GiB of 2.00 GiB memory, 4 min left";
        assert_eq!(progress.describe(), text);
        assert!(progress.describe_time_first().starts_with("4 min left, forward of layer 1, 5 of"));
        let unknown = RunProgress { left_s: None, budget_bytes: 0, paused: true, ..progress };
        let text = "paused in forward of layer 1, 5 of 16 workers, 3.00 GiB moved, 1.00 GiB memory";
        assert_eq!(unknown.describe(), text);
        assert_eq!([0.4, 99.0, 150.0, 7260.0].map(time), ["0 s", "99 s", "3 min", "2 h 1 min"]);
        assert_eq!(time(500_000.0), "138 h");
    }
}
