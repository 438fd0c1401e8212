//! Sleep of a thread that has nothing to do yet.

use std::time::{Duration, Instant};

/// Shortest and longest sleep. A thread that has waited long looks less often, so a machine that waits for another takes hardly any
/// processor time.
const SHORTEST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(20);
/// Share of the time waited so far that a sleep lasts; it is the most that a sleep can add to a wait.
const SHARE: u32 = 8;

/// The length of the next sleep.
pub(super) struct Pace {
    /// Time since which nothing has happened.
    idle_since: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace { idle_since: Instant::now() }
    }

    /// Sleeps, unless something has been done since the last call.
    pub(super) fn rest(&mut self, done_something: bool) {
        if done_something {
            self.idle_since = Instant::now();
        } else {
            let sleep = self.idle_since.elapsed() / SHARE;
            std::thread::sleep(sleep.clamp(SHORTEST, LONGEST));
        }
    }
}
