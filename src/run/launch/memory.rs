//! Measurement of the process tree's memory: private memory of all processes, shared memory once, and the page cache of
//! their own files.
//!
//! The measure is the sum of proportional set sizes: if n processes share a page, each counts an n-th of it.

use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::engine::turns::{Activity, Control, RankStatus};
use crate::platform::{Rollup, anonymous_bytes, peak_anonymous_bytes};

/// Smallest interval between samples.
const INTERVAL: Duration = Duration::from_millis(50);
/// Numbers of the first samples in which proportional set sizes are read: often at the start, when processes change
/// most.
const FIRST: [usize; 5] = [0, 2, 8, 32, 128];
/// Number of samples between two such readings of a process afterwards.
const CALIBRATION: usize = 200;

/// Memory of a worker.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WorkerUsage {
    /// The worker's slot in the control block.
    pub(super) slot: usize,
    /// Memory in bytes.
    pub(super) bytes: u64,
}

/// Memory of the process tree, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemoryUsage {
    /// Sum over all processes, including the page cache of their files.
    pub(super) sum: u64,
    /// The worker with the most memory.
    pub(super) largest: WorkerUsage,
    /// Maximum memory of one worker in its turn or wait so far, including peaks between samples.
    pub(super) peak: u64,
    /// Sum over all processes without values that waiting workers keep; a worker in its turn counts with its memory
    /// when it last waited.
    pub(super) idle: u64,
}

/// A sampler of the process tree, which keeps the largest sum.
///
/// Reading a proportional set size takes milliseconds, because it walks page tables. Between two readings, a process is
/// assumed to grow by as much as its anonymous memory, which the kernel counts anyway.
pub(super) struct MemorySampler {
    processes: Vec<Sample>,
    /// Memory of each worker when it last waited, without kept values.
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

    /// Takes a sample if one is due. Must be called often.
    pub(super) fn sample(&mut self, workers: &[Worker], control: &Control) -> Option<MemoryUsage> {
        if self.samples > 0 && self.last.elapsed() < INTERVAL {
            return None;
        }
        self.last = Instant::now();
        let workers = workers.iter().map(|worker| worker.pid().to_string());
        let processes: Vec<String> = std::iter::once("self".to_owned()).chain(workers).collect();
        for (i, process) in processes.iter().enumerate() {
            let start = FIRST.contains(&self.samples);
            // Later readings are spread over the processes.
            let due = start || (self.samples + i).is_multiple_of(CALIBRATION);
            if i >= self.processes.len() || due {
                let sample = Sample::take(process);
                match self.processes.get_mut(i) {
                    Some(old) => *old = sample,
                    None => self.processes.push(sample),
                }
            }
        }
        // One quick pass, because turns that change during it would be counted twice.
        let mut usage = MemoryUsage::default();
        for (i, process) in processes.iter().enumerate() {
            let Sample { proportional, anonymous } = self.processes[i];
            let status = i.checked_sub(1).map(|slot| control.rank(slot));
            let before = status.map(waiting);
            // A process that has ended counts 0.
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
            // Its claim is what it kept only if it waited during the whole reading.
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

/// Memory that a waiting worker keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KeptMemory {
    turns: u32,
    bytes: u64,
}

/// Memory that a worker keeps; `None` if it is not waiting.
fn waiting(status: &RankStatus) -> Option<KeptMemory> {
    let waits = matches!(status.activity(), Activity::Parked | Activity::Paused);
    waits.then(|| KeptMemory { turns: status.turns(), bytes: status.kept() })
}

impl Sample {
    /// Reads both numbers in one call; 0 for a process that has ended.
    fn take(pid: &str) -> Self {
        let rollup = Rollup::of(pid);
        let bytes = |name| rollup.bytes(name);
        Sample { proportional: bytes("Pss:"), anonymous: bytes("Anonymous:") }
    }
}
