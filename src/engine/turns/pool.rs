//! Memory that ranks may keep while they wait, and their claims to it.

use super::word::Word;

/// Sum of all ranks' claims, in KiB. A claim is one compare-and-swap, so two residents that pause at the same time
/// never claim the same bytes.
#[derive(Debug)]
pub struct Pool<W> {
    /// KiB that all ranks together have claimed.
    pub claimed: W,
}

impl<W: Word> Pool<W> {
    /// Replaces a rank's claim of `own` KiB and returns the new one, which never exceeds what the other ranks leave of
    /// a pool of `size`. `choose` gets that rest in KiB; it may be called several times.
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

    /// Replaces a rank's claim of `before` KiB by the memory that it actually takes. This may exceed the pool, which
    /// leaves less room for other ranks.
    pub fn settle(&self, before: u32, now: u32) {
        self.claimed.update(|claimed| claimed.saturating_sub(before).saturating_add(now));
    }
}
