//! Times at which the state of training is saved.

use std::time::{Duration, Instant};

/// A clock for runs that save at intervals.
#[derive(Debug, Clone, Copy)]
pub struct SaveClock {
    /// Time between two checkpoints.
    interval: Duration,
    /// Checkpoints take at most 1/`share` of the time.
    share: u32,
    /// Duration of the last checkpoint.
    cost: Duration,
    /// Time at which it was complete, or the run began.
    since: Instant,
}

impl SaveClock {
    /// A checkpoint every ten minutes, for at most 1 % of the time. Later epochs are also kept in memory.
    pub fn usual() -> Self {
        Self::new(Duration::from_secs(600), 100)
    }

    /// A checkpoint every two seconds, for at most 2 % of the time: for states that no rank can keep in memory. An
    /// interrupt that comes later must wait for the end of the epoch.
    pub fn often() -> Self {
        Self::new(Duration::from_secs(2), 50)
    }

    fn new(interval: Duration, share: u32) -> Self {
        SaveClock { interval, share, cost: Duration::ZERO, since: Instant::now() }
    }

    /// Whether a checkpoint is due.
    pub fn is_time(&self) -> bool {
        self.is_time_after(self.since.elapsed())
    }

    fn is_time_after(&self, since: Duration) -> bool {
        since >= self.interval.max(self.share * self.cost)
    }

    /// Records that a checkpoint that began at `begin` is complete.
    pub fn saved(&mut self, begin: Instant) {
        self.since = Instant::now();
        self.cost = self.since - begin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_comes_every_ten_minutes_and_takes_one_percent_of_the_time() {
        let is_time = |cost, since| {
            let clock = SaveClock { cost: Duration::from_secs(cost), ..SaveClock::usual() };
            clock.is_time_after(Duration::from_secs(since))
        };
        assert!(!is_time(0, 599) && is_time(0, 600));
        assert!(is_time(6, 600) && !is_time(7, 699) && is_time(7, 700));
        let mut clock = SaveClock::often();
        clock.saved(Instant::now());
        assert!(!clock.is_time() && clock.is_time_after(Duration::from_secs(2)));
    }
}
