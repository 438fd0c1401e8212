//! Sleep of a thread that is waiting for work.

use std::time::{Duration, Instant};

/// Shortest and longest sleep. A thread that has waited longer sleeps longer, so waiting for another machine takes
/// almost no processor time.
const SHORTEST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(20);
/// Length of a sleep as a fraction of the time waited so far; a sleep prolongs a wait by at most this fraction.
const SHARE: u32 = 8;

/// Chooses the length of the next sleep.
pub(super) struct Pace {
    /// Time of the last activity.
    idle_since: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace { idle_since: Instant::now() }
    }

    /// Sleeps, unless there was activity since the last call.
    pub(super) fn rest(&mut self, done_something: bool) {
        if done_something {
            self.idle_since = Instant::now();
        } else {
            let sleep = self.idle_since.elapsed() / SHARE;
            std::thread::sleep(sleep.clamp(SHORTEST, LONGEST));
        }
    }
}
