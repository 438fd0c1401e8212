//! A clock that all processes of the machine share.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the system's monotonic clock.
pub fn nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // The clock counts from the system's start, so neither part is negative.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
