//! How much memory the process tree takes: private memory of all processes plus shared memory once.
//!
//! Measured as the sum of proportional set sizes: of a page that n processes share, each counts the n-th part.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::ipc::{Activity, Control};

/// Samples are at least this far apart.
const INTERVAL: Duration = Duration::from_millis(100);
/// The launcher's own memory hardly changes: it is read once in so many samples.
const LAUNCHER_SAMPLES: usize = 10;

/// Samples the tree and keeps the largest sum seen.
///
/// Reading a process's set size walks its page tables, so a parked worker, whose memory does not change, is read once
/// after each of its turns.
pub(super) struct MemorySampler {
    control: Arc<Control>,
    launcher: u64,
    workers: Vec<Sample>,
    samples: usize,
    last: Instant,
    peak: u64,
}

#[derive(Clone, Copy, Default)]
struct Sample {
    bytes: u64,
    /// The turns the worker had begun, if it was parked then.
    parked_after: Option<u32>,
}

impl MemorySampler {
    pub(super) fn new(control: Arc<Control>) -> Self {
        let workers = vec![Sample::default(); control.world_size()];
        MemorySampler { control, launcher: 0, workers, samples: 0, last: Instant::now(), peak: 0 }
    }

    /// Takes a sample, if one is due, and gives the sum; to be called often.
    pub(super) fn sample(&mut self, workers: &[Worker]) -> Option<u64> {
        if self.samples > 0 && self.last.elapsed() < INTERVAL {
            return None;
        }
        if self.samples.is_multiple_of(LAUNCHER_SAMPLES) {
            self.launcher = proportional_set_size("self");
        }
        self.samples += 1;
        self.last = Instant::now();
        for worker in workers {
            let sample = &mut self.workers[worker.rank()];
            let status = self.control.rank(worker.rank());
            let parked = status.activity() == Activity::Parked;
            let parked_after = parked.then(|| status.turns());
            if !parked || sample.parked_after != parked_after {
                let bytes = proportional_set_size(&worker.pid().to_string());
                *sample = Sample { bytes, parked_after };
            }
        }
        let sum = self.launcher + self.workers.iter().map(|sample| sample.bytes).sum::<u64>();
        self.peak = self.peak.max(sum);
        Some(sum)
    }

    /// The largest sum of a sample, in bytes.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }
}

/// In bytes; 0 for a process that is gone.
fn proportional_set_size(pid: &str) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|text| text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
