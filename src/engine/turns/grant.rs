//! The memory that ranks may take during a kind of work.

use std::sync::atomic::{AtomicU32, Ordering};

/// Fraction of a rest of the budget that is given out.
const GIVEN_OUT: f64 = 0.85;

/// The bytes of a rest of the budget that are given out; the remainder covers changes from epoch to epoch.
pub fn given_out(rest: u64) -> u64 {
    (rest as f64 * GIVEN_OUT) as u64
}

/// Limits of the ranks during a kind of work, set by the launcher.
#[repr(C)]
pub(super) struct Grant {
    /// Number of ranks that may be resident at a time.
    pub(super) slots: AtomicU32,
    /// KiB that each rank may keep in memory while it waits, at most.
    parked_kib: AtomicU32,
    /// KiB of which all ranks together may keep a part, and grow by the rest in their turns.
    room_kib: AtomicU32,
}

impl Grant {
    /// Bytes that each rank may keep in memory while it waits, at most.
    pub(super) fn parked(&self) -> u64 {
        u64::from(self.parked_kib.load(Ordering::SeqCst)) << 10
    }

    pub(super) fn set_parked(&self, bytes: u64) {
        self.parked_kib.store(kib(bytes), Ordering::SeqCst);
    }

    /// Bytes that all ranks together may take beyond what they take at rest: what they keep, and what residents grow by.
    pub(super) fn room(&self) -> u64 {
        u64::from(self.room_kib.load(Ordering::SeqCst)) << 10
    }

    pub(super) fn set_room(&self, bytes: u64) {
        self.room_kib.store(kib(bytes), Ordering::SeqCst);
    }
}

/// Whole KiB.
pub(super) fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes >> 10).unwrap_or(u32::MAX)
}
