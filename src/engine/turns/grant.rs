//! Memory that ranks may take during a kind of work.

use super::cells::{Cell32, Kib};

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
    pub(super) slots: Cell32,
    /// Maximum bytes that each rank may keep in memory while it waits, where no launcher sets the room.
    pub(super) parked: Kib,
    /// Bytes for all ranks together in addition to their memory at rest: values that they keep, and residents' growth.
    pub(super) room: Kib,
}
