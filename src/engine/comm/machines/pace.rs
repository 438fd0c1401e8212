//! Sleep of a thread that has nothing to do yet.

use std::time::Duration;

/// First and longest sleep. Sleeps grow while nothing happens, so a machine that waits for another takes hardly any processor time.
const SHORTEST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(2);

/// The length of the next sleep.
pub(super) struct Pace(Duration);

impl Pace {
    pub(super) fn new() -> Self {
        Pace(SHORTEST)
    }

    /// Sleeps, unless something has been done since the last call.
    pub(super) fn rest(&mut self, done_something: bool) {
        if done_something {
            self.0 = SHORTEST;
        } else {
            std::thread::sleep(self.0);
            self.0 = LONGEST.min(2 * self.0);
        }
    }
}
