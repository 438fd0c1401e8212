//! Measurement of the process tree's memory: private memory of all processes plus shared memory once, and the page cache that
//! their own files fill.
//!
//! The measure is the sum of proportional set sizes: of a page that n processes share, each counts the n-th part.

use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::engine::turns::{Activity, Control, RankStatus};
use crate::platform::{Rollup, anonymous_bytes, peak_anonymous_bytes};

/// Smallest interval between samples.
const INTERVAL: Duration = Duration::from_millis(50);
/// Numbers of the first samples for which proportional set sizes are read: often at the start, when processes change most.
const FIRST: [usize; 5] = [0, 2, 8, 32, 128];
/// Number of samples between two such readings of a process later on.
const CALIBRATION: usize = 200;

/// Memory that a worker takes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WorkerUsage {
    /// The worker's slot in the control block.
    pub(super) slot: usize,
    /// Memory in bytes.
    pub(super) bytes: u64,
}

/// Memory that the process tree takes, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemoryUsage {
    /// Sum over all processes, with the page cache that their files fill.
    pub(super) sum: u64,
    /// The worker that takes the most.
    pub(super) largest: WorkerUsage,
    /// The most that one worker has taken in its turn or wait so far, between samples, too.
    pub(super) peak: u64,
    /// Sum over all processes without what waiting workers keep: for a worker in its turn, its memory when it last waited.
    pub(super) idle: u64,
}

/// A sampler of the process tree, which keeps the largest sum.
///
/// Reading a proportional set size walks page tables, which costs milliseconds. Between two such readings a process is assumed
/// to have grown by as much as its anonymous memory, which the kernel counts anyway.
pub(super) struct MemorySampler {
    processes: Vec<Sample>,
    /// Memory of each worker without what it keeps, when it last waited.
    idle: Vec<u64>,
    samples: usize,
    last: Instant,
    peak: u64,
}

/// A process at the last reading of its proportional set size.
#[derive(Clone, Copy)]
struct Sample {
    proportional: u64,
    anonymous: u64,
}

impl MemorySampler {
    pub(super) fn new() -> Self {
        MemorySampler {
            processes: Vec::new(),
            idle: Vec::new(),
            samples: 0,
            last: Instant::now(),
            peak: 0,
        }
    }

    /// Takes a sample, if one is due; call this often.
    pub(super) fn sample(&mut self, workers: &[Worker], control: &Control) -> Option<MemoryUsage> {
        if self.samples > 0 && self.last.elapsed() < INTERVAL {
            return None;
        }
        self.last = Instant::now();
        let workers = workers.iter().map(|worker| worker.pid().to_string());
        let processes: Vec<String> = std::iter::once("self".to_owned()).chain(workers).collect();
        for (i, process) in processes.iter().enumerate() {
            let start = FIRST.contains(&self.samples);
            // Later on, not all processes at once.
            let due = start || (self.samples + i).is_multiple_of(CALIBRATION);
            if i >= self.processes.len() || due {
                let sample = Sample::take(process);
                match self.processes.get_mut(i) {
                    Some(old) => *old = sample,
                    None => self.processes.push(sample),
                }
            }
        }
        // Summed in one go, which takes microseconds: turns that change meanwhile would count twice.
        let mut usage = MemoryUsage::default();
        for (i, process) in processes.iter().enumerate() {
            let Sample { proportional, anonymous } = self.processes[i];
            let status = i.checked_sub(1).map(|slot| control.rank(slot));
            let before = status.map(waiting);
            // A process that has ended takes no memory.
            let now = anonymous_bytes(process).unwrap_or(0);
            let bytes = (proportional + now).saturating_sub(anonymous);
            usage.sum += bytes;
            let (Some(slot), Some(status)) = (i.checked_sub(1), status) else {
                usage.idle += bytes;
                continue;
            };
            usage.sum += status.cached();
            let unseen = peak_anonymous_bytes(process).unwrap_or(0).saturating_sub(now);
            usage.peak = usage.peak.max(bytes + unseen);
            if bytes > usage.largest.bytes {
                usage.largest = WorkerUsage { slot, bytes };
            }
            if slot == self.idle.len() {
                self.idle.push(bytes);
            }
            // Only if it waited all the while, its claim is what it kept.
            if let (Some(Some(kept)), after) = (before, waiting(status))
                && after == Some(kept)
            {
                self.idle[slot] = bytes.saturating_sub(kept.bytes);
            }
            usage.idle += self.idle[slot];
        }
        self.samples += 1;
        self.peak = self.peak.max(usage.sum);
        Some(usage)
    }

    /// The largest sum of a sample, in bytes.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }
}

/// The memory that a worker keeps while it waits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KeptMemory {
    turns: u32,
    bytes: u64,
}

/// The memory that a worker keeps, if it waits.
fn waiting(status: &RankStatus) -> Option<KeptMemory> {
    let waits = matches!(status.activity(), Activity::Parked | Activity::Paused);
    waits.then(|| KeptMemory { turns: status.turns(), bytes: status.kept() })
}

impl Sample {
    /// Reads both numbers at the same moment; they are 0 for a process that has ended.
    fn take(pid: &str) -> Self {
        let rollup = Rollup::of(pid);
        let bytes = |name| rollup.bytes(name);
        Sample { proportional: bytes("Pss:"), anonymous: bytes("Anonymous:") }
    }
}
