//! Detection of workers that are stopped, or make no progress.

use std::fs;
use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::engine::turns::{Activity, Control};
use crate::platform::ProcessStat;

/// Time without progress after which a worker is reported.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval of repeated reports.
const REPEAT: Duration = Duration::from_secs(60);
/// Interval at which workers are checked.
const INTERVAL: Duration = Duration::from_secs(1);

/// State of a worker at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Observation {
    /// State letter in `/proc/PID/stat`.
    state: char,
    /// Whether it waits for others without a turn.
    parked: bool,
    /// Counters that change while the worker makes progress: clock ticks of computing, bytes read and written, epoch
    /// and turns.
    work: [u64; 4],
}

/// Reason for a worker's lack of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stall {
    Stopped,
    Disk,
    Unknown,
}

/// The last observation of a worker.
#[derive(Debug, Clone, Copy)]
struct Seen {
    observation: Observation,
    /// Time at which its counters or state last changed.
    since: Instant,
    told: Option<Instant>,
}

/// Watch for workers that make no progress while no other worker does anything that they could be waiting for.
pub(super) struct StallWatch {
    seen: Vec<Option<Seen>>,
    last: Instant,
}

impl StallWatch {
    pub(super) fn new() -> Self {
        StallWatch { seen: Vec::new(), last: Instant::now() }
    }

    /// Returns the messages that are due. Must be called often.
    pub(super) fn look(&mut self, workers: &[Worker], control: &Control) -> Vec<String> {
        let now = Instant::now();
        if now.duration_since(self.last) < INTERVAL {
            return Vec::new();
        }
        self.last = now;
        let observations: Vec<_> = workers.iter().map(|worker| observe(worker, control)).collect();
        let stalls = self.judge(now, &observations).into_iter();
        let text = |(i, stall)| {
            let worker: &Worker = &workers[i];
            let (rank, pid, place) = (worker.rank(), worker.pid(), worker.place(control));
            let seconds = PATIENCE.as_secs();
            match stall {
                Stall::Stopped => format!(
                    "rank {rank} (process {pid}) has been stopped for more than {seconds} s {place}; \
                     `kill -CONT {pid}` resumes it"
                ),
                Stall::Disk => format!(
                    "rank {rank} (process {pid}) has waited for the disk for more than {seconds} s {place}"
                ),
                Stall::Unknown => format!(
                    "rank {rank} (process {pid}) has made no progress for more than {seconds} s {place}"
                ),
            }
        };
        stalls.map(text).collect()
    }

    /// Indices of the workers to report.
    fn judge(&mut self, now: Instant, observations: &[Option<Observation>]) -> Vec<(usize, Stall)> {
        self.seen.resize(observations.len(), None);
        for (seen, observation) in self.seen.iter_mut().zip(observations) {
            let Some(observation) = *observation else {
                *seen = None;
                continue;
            };
            match seen {
                Some(seen) if seen.observation == observation => {}
                _ => *seen = Some(Seen { observation, since: now, told: None }),
            }
        }
        let idle = |seen: &Seen| now.duration_since(seen.since) >= PATIENCE;
        let why = |seen: &Seen| match seen.observation.state {
            _ if !idle(seen) => None,
            'T' | 't' => Some(Stall::Stopped),
            'D' => Some(Stall::Disk),
            _ => None,
        };
        let mut stalls: Vec<_> = self.seen.iter().map(|seen| seen.as_ref().and_then(why)).collect();
        let all_idle = self.seen.iter().flatten().all(idle);
        if all_idle && stalls.iter().all(Option::is_none) {
            // If no worker makes progress, those with a turn are to blame; if none has a turn, all.
            let has_turn = |seen: &Seen| !seen.observation.parked;
            let any = self.seen.iter().flatten().any(has_turn);
            for (stall, seen) in stalls.iter_mut().zip(&self.seen) {
                let blamed = seen.as_ref().is_some_and(|seen| !any || has_turn(seen));
                *stall = blamed.then_some(Stall::Unknown);
            }
        }
        let mut tell = Vec::new();
        for (i, (stall, seen)) in stalls.into_iter().zip(&mut self.seen).enumerate() {
            let (Some(stall), Some(seen)) = (stall, seen) else { continue };
            if seen.told.is_none_or(|told| now.duration_since(told) >= REPEAT) {
                seen.told = Some(now);
                tell.push((i, stall));
            }
        }
        tell
    }
}

/// Observes a worker; `None` if its process has ended, or the system does not report it.
fn observe(worker: &Worker, control: &Control) -> Option<Observation> {
    let process = worker.pid().to_string();
    let stat = ProcessStat::read(&process).filter(ProcessStat::is_alive)?;
    let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let bytes = io.lines().filter_map(|line| line.split_once(": ")?.1.parse::<u64>().ok()).sum();
    let status = control.rank(worker.slot());
    let parked = matches!(status.activity(), Activity::Parked | Activity::Finished);
    let work = [
        stat.user + stat.system,
        bytes,
        u64::from(status.epoch.get()),
        u64::from(status.turns.get()),
    ];
    Some(Observation { state: stat.state, parked, work })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Watches `scene` for `seconds` seconds; returns the reports with their times.
    fn told(seconds: u64, scene: impl Fn(u64) -> Vec<Observation>) -> Vec<(u64, usize, Stall)> {
        let start = Instant::now();
        let mut watch = StallWatch::new();
        let at = |second| {
            let observations: Vec<_> = scene(second).into_iter().map(Some).collect();
            let stalls = watch.judge(start + Duration::from_secs(second), &observations);
            stalls.into_iter().map(|(i, stall)| (second, i, stall)).collect::<Vec<_>>()
        };
        (0..=seconds).flat_map(at).collect()
    }

    fn sees(state: char, parked: bool, ticks: u64) -> Observation {
        Observation { state, parked, work: [ticks, 0, 3, 7] }
    }

    #[test]
    fn who_computes_or_waits_for_one_who_does_is_not_told_of() {
        // Five minutes of computing in one phase while another worker waits.
        let scene = |second| vec![sees('R', false, second * 100), sees('S', true, 5)];
        assert_eq!(told(300, scene), []);
    }

    #[test]
    fn a_stopped_worker_is_told_of_once_a_minute_and_those_that_wait_for_it_are_not() {
        let scene = |second| match second {
            10..140 => vec![sees('T', false, 10), sees('S', true, 5)],
            _ => vec![sees('R', false, second), sees('S', true, 5)],
        };
        let expected = [40, 100].map(|second| (second, 0, Stall::Stopped));
        assert_eq!(told(300, scene), expected);
        // A waiting worker may be stopped while others make progress.
        let scene = |second| vec![sees('R', false, second), sees('T', true, 5)];
        assert_eq!(told(50, scene), [(30, 1, Stall::Stopped)]);
    }

    #[test]
    fn a_disk_that_does_not_answer_and_a_turn_that_no_rank_uses_are_reported() {
        let scene = |_| vec![sees('D', false, 5), sees('S', true, 5)];
        assert_eq!(told(50, scene), [(30, 0, Stall::Disk)]);
        let scene = |_| vec![sees('S', true, 5), sees('S', false, 5)];
        assert_eq!(told(50, scene), [(30, 1, Stall::Unknown)]);
        let scene = |_| vec![sees('S', true, 5), sees('S', true, 5)];
        assert_eq!(told(50, scene), [(30, 0, Stall::Unknown), (30, 1, Stall::Unknown)]);
    }
}
