//! Memory that ranks may take during a kind of work.

use std::sync::atomic::{AtomicU32, Ordering};

/// Fraction of the remaining budget that ranks may use.
const GIVEN_OUT: f64 = 0.85;

/// Bytes of the remaining budget that ranks may use; the other part covers changes from epoch to epoch.
pub fn given_out(rest: u64) -> u64 {
    (rest as f64 * GIVEN_OUT) as u64
}

/// The remaining budget of which ranks may use `bytes`.
pub fn rest_to_give_out(bytes: u64) -> u64 {
    (bytes as f64 / GIVEN_OUT).ceil() as u64
}

/// Limits of the ranks during a kind of work, set by the launcher.
#[repr(C)]
pub(super) struct Grant {
    /// Number of ranks that may be resident at a time.
    pub(super) slots: AtomicU32,
    /// Maximum KiB that each rank may keep in memory while it waits, where no launcher sets the room.
    parked_kib: AtomicU32,
    /// KiB for all ranks together: values that they keep, and growth in their turns.
    room_kib: AtomicU32,
}

impl Grant {
    /// Maximum bytes that each rank may keep in memory while it waits.
    pub(super) fn parked(&self) -> u64 {
        u64::from(self.parked_kib.load(Ordering::SeqCst)) << 10
    }

    pub(super) fn set_parked(&self, bytes: u64) {
        self.parked_kib.store(kib(bytes), Ordering::SeqCst);
    }

    /// Bytes for all ranks together in addition to their memory at rest: values that they keep, and residents' growth.
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
