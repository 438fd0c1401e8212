//! Measurement of the process tree's memory: anonymous memory of all processes, code and other files that they map once,
//! the page cache of their own files, and private memory of processes that workers have started.
//!
//! If n processes share an anonymous page, each counts an n-th of it. Mapped files count as much as the process that maps the
//! most of them has in memory, because all run the same code: other programs that run it, too, change nothing.

use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::engine::turns::{Activity, Control, RankStatus};
use crate::platform::{Pages, Rollup, bytes_of_children, peak_anonymous_bytes};

/// Smallest interval between samples.
const INTERVAL: Duration = Duration::from_millis(50);
/// Numbers of the first samples in which proportional memory is read: often at the start, when processes change
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
    /// All processes, including the files that they map and the page cache of their own.
    pub(super) sum: u64,
    /// Bytes by which a resident worker's peak since the last sample exceeded its present memory.
    pub(super) passed: u64,
    /// Whether a turn began while the processes were read, so that memory may count twice.
    pub(super) torn: bool,
    /// The worker with the most memory.
    pub(super) largest: WorkerUsage,
    /// Maximum memory of one worker in its turn or wait so far, including peaks between samples.
    pub(super) peak: u64,
    /// All processes without values that waiting workers keep; a worker in its turn counts with its memory when it last
    /// waited.
    pub(super) idle: u64,
}

/// A sampler of the process tree, which keeps the peak.
///
/// Reading proportional memory takes milliseconds, because it walks page tables. Between two readings, a process is
/// assumed to grow by as much as its anonymous memory, which the kernel counts anyway.
pub(super) struct MemorySampler {
    processes: Vec<Sample>,
    /// Memory of each worker when it last waited, without kept values.
    idle: Vec<u64>,
    /// Peak of each worker's anonymous memory in its turn, at the last sample.
    peaks: Vec<u64>,
    samples: usize,
    last: Instant,
    peak: u64,
}

/// A process at the last reading of its proportional memory.
#[derive(Clone, Copy)]
struct Sample {
    /// Anonymous memory, with the process's part of shared pages.
    proportional: u64,
    /// Anonymous memory.
    anonymous: u64,
}

impl MemorySampler {
    pub(super) fn new() -> Self {
        MemorySampler {
            processes: Vec::new(),
            idle: Vec::new(),
            peaks: Vec::new(),
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
        // Memory of processes that workers have started, such as those of a `DataLoader` in Python: read before the quick pass,
        // because it takes milliseconds.
        let started: Vec<u64> =
            processes.iter().map(|process| bytes_of_children(process)).collect();
        for (i, process) in processes.iter().enumerate() {
            let start = FIRST.contains(&self.samples);
            // Later readings are spread over the processes.
            let due = start || (self.samples + i).is_multiple_of(CALIBRATION);
            // Else pages that a process shares with its children would count in part.
            let due = due && started[i] == 0;
            if i >= self.processes.len() || due {
                let sample = Sample::take(process);
                match self.processes.get_mut(i) {
                    Some(old) => *old = sample,
                    None => self.processes.push(sample),
                }
            }
        }
        // One quick pass, because turns that change during it would be counted twice.
        let turns = || -> Vec<u32> {
            (0..control.num_ranks()).map(|slot| control.rank(slot).turns.get()).collect()
        };
        let (mut usage, mut files, before) = (MemoryUsage::default(), 0, turns());
        for (i, process) in processes.iter().enumerate() {
            let Sample { proportional, anonymous } = self.processes[i];
            let status = i.checked_sub(1).map(|slot| control.rank(slot));
            let waited = status.map(waiting);
            // A process that has ended counts 0.
            let Pages { anonymous: now, files: mapped } = Pages::of(process).unwrap_or_default();
            files = files.max(mapped);
            let bytes = (proportional + now).saturating_sub(anonymous);
            usage.sum += bytes;
            let (Some(slot), Some(status)) = (i.checked_sub(1), status) else {
                usage.idle += bytes;
                continue;
            };
            usage.sum += status.cached() + started[i];
            let peak = peak_anonymous_bytes(process).unwrap_or(0);
            let unseen = peak.saturating_sub(now);
            usage.peak = usage.peak.max(bytes + unseen);
            // What other workers have taken since an earlier peak did not come on top of it.
            self.peaks.resize(self.peaks.len().max(slot + 1), 0);
            let is_new = std::mem::replace(&mut self.peaks[slot], peak) != peak;
            if is_new && status.activity() == Activity::Resident {
                usage.passed = usage.passed.max(unseen);
            }
            if bytes > usage.largest.bytes {
                usage.largest = WorkerUsage { slot, bytes };
            }
            if slot == self.idle.len() {
                self.idle.push(bytes + started[i]);
            }
            // Its claim is what it kept only if it waited during the whole reading.
            if let (Some(Some(kept)), after) = (waited, waiting(status))
                && after == Some(kept)
            {
                self.idle[slot] = (bytes + started[i]).saturating_sub(kept.bytes);
            }
            usage.idle += self.idle[slot];
        }
        usage.sum += files;
        usage.idle += files;
        usage.torn = turns() != before;
        self.samples += 1;
        // A turn's peak may lie between two samples.
        self.peak = self.peak.max(usage.sum + usage.passed);
        Some(usage)
    }

    /// The largest memory of all processes, in bytes.
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
    waits.then(|| KeptMemory { turns: status.turns.get(), bytes: status.kept() })
}

impl Sample {
    /// Reads both numbers; 0 for a process that has ended.
    fn take(pid: &str) -> Self {
        // The quick count may differ from the exact one on machines with many processors. It is subtracted from later quick
        // counts, so that the difference cancels out.
        let anonymous = Pages::of(pid).unwrap_or_default().anonymous;
        let rollup = Rollup::of(pid);
        let part = rollup.bytes("Pss_Anon:");
        // Before version 5.4, Linux does not report the part, so shared pages count in full.
        let proportional = if part == 0 { rollup.bytes("Anonymous:") } else { part };
        Sample { proportional, anonymous }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use memmap2::MmapOptions;
    use parking_lot::Mutex;
    use rustix::process::getpid;

    use super::*;

    /// Held by a test, so that its memory does not count in the other one.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn files_count_once_and_only_while_they_are_mapped() {
        const FILE: usize = 64 << 20;
        let _alone = ALONE.lock();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; FILE]).unwrap();
        let map = MmapOptions::new().populate().map_raw_read_only(&file).unwrap();
        let control = Control::in_memory(1, 1).unwrap();
        let sum = |sampler: &mut MemorySampler, workers: &[Worker]| loop {
            match sampler.sample(workers, &control) {
                Some(usage) => break usage.sum,
                None => std::thread::sleep(INTERVAL),
            }
        };
        let (mut alone, mut twice) = (MemorySampler::new(), MemorySampler::new());
        let before = sum(&mut alone, &[]);
        assert!(before > FILE as u64);
        // This process counts as its own worker.
        let both = sum(&mut twice, &[Worker::new(0, 0, getpid())]);
        let own = Pages::of("self").unwrap().anonymous;
        assert!(both < before + own + FILE as u64 / 2, "{both} of two, {before} of one");
        drop(map);
        let after = sum(&mut alone, &[]);
        assert!(after < before - FILE as u64 / 2, "{after} after {before}");
    }

    #[test]
    fn a_peak_between_two_samples_counts() {
        let _alone = ALONE.lock();
        let control = Control::in_memory(1, 1).unwrap();
        control.rank(0).set_activity(Activity::Resident);
        drop(std::hint::black_box(vec![1_u8; 256 << 20]));
        let peak = peak_anonymous_bytes("self").unwrap();
        let (mut sampler, workers) = (MemorySampler::new(), [Worker::new(0, 0, getpid())]);
        let usage = sampler.sample(&workers, &control).unwrap();
        assert!(usage.passed > 0 && sampler.peak() >= peak, "{} of {peak}", sampler.peak());
        std::thread::sleep(INTERVAL);
        let again = sampler.sample(&workers, &control).unwrap();
        assert!(again.passed < usage.passed, "{} after {}", again.passed, usage.passed);
    }
}
