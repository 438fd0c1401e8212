//! The progress of a run, read from the status of its ranks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::turns::{Activity, Control, RankStatus, Request};
use crate::event::RunProgress;

/// Interval at which progress is reported.
const INTERVAL: Duration = Duration::from_millis(500);

/// Reads the ranks' status and knows how long epochs have taken.
pub(super) struct ProgressMeter {
    control: Arc<Control>,
    last: Instant,
    epoch: Epoch,
    /// Seconds of the last complete epoch, and number of all ranks' turns in it.
    previous: Option<(f64, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Epoch {
    number: u32,
    began: Instant,
    /// Turns and bytes of all ranks at its start.
    turns: u64,
    bytes: u64,
}

impl ProgressMeter {
    pub(super) fn new(control: Arc<Control>) -> Self {
        let now = Instant::now();
        let epoch = Epoch { number: 0, began: now, turns: 0, bytes: 0 };
        ProgressMeter { control, last: now, epoch, previous: None }
    }

    /// Returns the progress if a report is due. Must be called often. `memory` is the memory of all processes.
    pub(super) fn look(&mut self, memory: u64) -> Option<RunProgress> {
        let now = Instant::now();
        let ranks: Vec<&RankStatus> = self.ranks().collect();
        let number = ranks.iter().map(|status| status.epoch.get()).max().unwrap_or(0);
        let turns: u64 = ranks.iter().map(|status| u64::from(ended_turns(status))).sum();
        let bytes: u64 = ranks.iter().map(|status| status.moved.get()).sum();
        if number != self.epoch.number {
            let before = self.epoch;
            let seconds = now.duration_since(before.began).as_secs_f64();
            self.previous =
                (before.number > 0).then_some((seconds, turns.saturating_sub(before.turns)));
            self.epoch = Epoch { number, began: now, turns, bytes };
        }
        if now.duration_since(self.last) < INTERVAL {
            return None;
        }
        self.last = now;
        let run = self.control.run();
        let epoch_s = now.duration_since(self.epoch.began).as_secs_f64();
        let share = self.share(turns.saturating_sub(self.epoch.turns));
        let left_s = self.left(epoch_s, share).filter(|_| !run.is_asked(Request::Pause));
        run.set_left(left_s);
        let furthest = self.ranks().max_by_key(|status| status.turns.get());
        Some(RunProgress {
            epoch: number,
            phase: furthest.map(|status| status.phase().to_string()).unwrap_or_default(),
            ranks_done: self.ranks_done(),
            ranks: self.control.num_ranks(),
            share,
            bytes: bytes.saturating_sub(self.epoch.bytes),
            memory_bytes: memory,
            budget_bytes: run.budget.get(),
            epoch_s,
            left_s,
            paused: run.is_asked(Request::Pause),
        })
    }

    fn ranks(&self) -> impl Iterator<Item = &RankStatus> {
        (0..self.control.num_ranks()).map(|rank| self.control.rank(rank))
    }

    /// Number of ranks that have ended as many turns as any rank has begun; if ranks take no turns, the number of ranks
    /// that wait.
    fn ranks_done(&self) -> usize {
        let begun = self.ranks().map(|status| status.turns.get()).max().unwrap_or(0);
        self.ranks().filter(|status| ended_turns(status) == begun && begun > 0).count()
    }

    /// Fraction of the epoch that is done after `turns` turns of all ranks.
    fn share(&self, turns: u64) -> f64 {
        let steps = self.ranks().map(RankStatus::steps).find(|steps| steps.of > 0);
        if let Some(steps) = steps {
            return (f64::from(steps.done) / f64::from(steps.of)).min(1.0);
        }
        let expected = match self.previous {
            Some((_, turns)) => turns,
            None => {
                u64::from(self.control.run().expected_turns.get()) * self.control.num_ranks() as u64
            }
        };
        if expected == 0 { 0.0 } else { (turns as f64 / expected as f64).min(0.99) }
    }

    /// Seconds until the end of the last epoch.
    fn left(&self, epoch_s: f64, share: f64) -> Option<f64> {
        let epochs = self.control.run().epochs.get();
        let epoch = self.epoch.number;
        if epochs == 0 || epoch == 0 {
            return None;
        }
        let whole = match self.previous {
            Some((seconds, _)) => seconds.max(epoch_s),
            None if share > 0.0 => epoch_s / share,
            None => return None,
        };
        let of_epoch = (whole - epoch_s).max(whole * (1.0 - share).clamp(0.0, 0.05));
        Some(of_epoch + whole * f64::from(epochs.saturating_sub(epoch)))
    }
}

/// Number of turns that a rank has completed.
fn ended_turns(status: &RankStatus) -> u32 {
    let turns = status.turns.get();
    match status.activity() {
        Activity::Resident => turns.saturating_sub(1),
        _ => turns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::turns::{Phase, Steps};

    #[test]
    fn progress_follows_the_ranks_through_an_epoch() {
        let control = Arc::new(Control::in_memory(4, 1).unwrap());
        control.run().begin(1, 3, 1 << 30);
        control.run().expected_turns.set(5);
        let mut meter = ProgressMeter::new(control.clone());
        let look = |meter: &mut ProgressMeter| {
            meter.last = meter.last.checked_sub(INTERVAL).unwrap();
            meter.look(7).unwrap()
        };
        let loading = look(&mut meter);
        assert_eq!((loading.epoch, loading.left_s, loading.phase.as_str()), (0, None, "loading"));
        let turn = |rank: usize, activity| {
            let status = control.rank(rank);
            status.epoch.set(1);
            status.set_phase(Phase::Forward(0));
            status.turns.count();
            status.set_activity(activity);
        };
        control.rank(0).epoch.set(1);
        look(&mut meter);
        turn(0, Activity::Parked);
        turn(1, Activity::Resident);
        control.rank(0).moved.set(5000);
        let progress = look(&mut meter);
        assert_eq!((progress.ranks_done, progress.ranks, progress.epoch), (1, 4, 1));
        assert_eq!((progress.phase.as_str(), progress.memory_bytes), ("forward of layer 0", 7));
        assert_eq!(progress.bytes, 5000);
        assert!((progress.share - 1.0 / 20.0).abs() < 1e-9 && progress.left_s.is_some());
        assert!(control.run().left().is_some());
        // In batches, steps are more precise than turns.
        control.rank(0).set_steps(Steps { done: 3, of: 4 });
        assert!((look(&mut meter).share - 0.75).abs() < 1e-9);
        assert!(meter.look(7).is_none(), "not so soon again");
    }
}
