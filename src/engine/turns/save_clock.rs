//! The times at which the state of training is saved.

use std::time::{Duration, Instant};

/// A clock that says when a run that saves by time is to save.
#[derive(Debug, Clone, Copy)]
pub struct SaveClock {
    /// Time between two checkpoints.
    interval: Duration,
    /// Checkpoints take one in this number of the time at most.
    share: u32,
    /// Time that the last checkpoint took.
    cost: Duration,
    /// The moment when it was complete, or the run began.
    since: Instant,
}

impl SaveClock {
    /// A checkpoint every ten minutes, for at most 1 % of the time. What happens until then is kept in memory, too.
    pub fn usual() -> Self {
        Self::new(Duration::from_secs(600), 100)
    }

    /// A checkpoint every two seconds, for at most 2 % of the time: for what no rank can keep in memory, so that an interrupt which
    /// comes later has to wait for the end of the epoch.
    pub fn often() -> Self {
        Self::new(Duration::from_secs(2), 50)
    }

    fn new(interval: Duration, share: u32) -> Self {
        SaveClock { interval, share, cost: Duration::ZERO, since: Instant::now() }
    }

    /// Whether it is time.
    pub fn is_time(&self) -> bool {
        self.is_time_after(self.since.elapsed())
    }

    fn is_time_after(&self, since: Duration) -> bool {
        since >= self.interval.max(self.share * self.cost)
    }

    /// Notes that a checkpoint, which began at `begin`, is complete.
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
