//! The memory that ranks may keep while they wait, and how much of it is claimed.

use super::word::Word;

/// The sum of all ranks' claims, in KiB. A claim is one compare-and-swap, so two residents that pause at the same
/// moment never claim the same bytes.
#[derive(Debug)]
pub struct Pool<W> {
    /// KiB that all ranks together have claimed.
    pub claimed: W,
}

impl<W: Word> Pool<W> {
    /// Replaces a rank's claim of `own` KiB and returns the new one. `choose` gets the KiB of a pool of `size` that the other
    /// ranks leave; it may be called several times. A claim never exceeds the rest.
    pub fn claim(&self, size: u64, own: u32, choose: impl Fn(u64) -> u64) -> u32 {
        loop {
            let claimed = self.claimed.load();
            let others = claimed.saturating_sub(own);
            let left = size.saturating_sub(u64::from(others)).min(u64::from(u32::MAX - others));
            let room = choose(left).min(left) as u32;
            if self.claimed.compare_exchange(claimed, others + room) {
                return room;
            }
        }
    }

    /// Replaces a rank's claim of `before` KiB by the memory that the rank really takes. That may exceed the pool, and then
    /// the other ranks find less room.
    pub fn settle(&self, before: u32, now: u32) {
        self.claimed.update(|claimed| claimed.saturating_sub(before).saturating_add(now));
    }
}
