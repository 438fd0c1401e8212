//! The turn lock of one rank.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use super::control::Control;
use super::status::{Activity, RankStatus};
use crate::error::Result;

/// A rank's side of the lock with K slots. Turns are taken in a fixed order, alternately 0..N-1 and N-1..0, so that the rank
/// that ends one phase begins the next and finds its data hot.
#[derive(Debug)]
pub struct TurnLock {
    control: Arc<Control>,
    rank: usize,
    turns: Cell<u64>,
}

impl TurnLock {
    /// The lock of `rank`; every rank takes and gives back the same number of turns.
    pub fn new(control: Arc<Control>, rank: usize) -> Self {
        TurnLock { control, rank, turns: Cell::new(0) }
    }

    /// Waits for this rank's next turn.
    ///
    /// Fails with `Interrupted` or `Aborted` when the run is being stopped.
    pub fn acquire(&self) -> Result<()> {
        let world = self.control.world_size() as u64;
        let turn = self.turns.get();
        let rank = self.rank as u64;
        let position = if turn.is_multiple_of(2) { rank } else { world - 1 - rank };
        self.control.acquire((turn * world + position) as u32)?;
        self.turns.set(turn + 1);
        self.status().count_turn();
        self.status().set_activity(Activity::Resident);
        Ok(())
    }

    /// Gives the turn back.
    pub fn release(&self) {
        self.status().set_activity(Activity::Parked);
        self.control.release();
    }

    /// Gives the last turn back.
    pub fn finish(&self) {
        self.release();
        self.status().set_activity(Activity::Finished);
    }

    /// Whether this is the only rank, so that no operation on the graph waits.
    pub fn is_alone(&self) -> bool {
        self.control.world_size() == 1
    }

    /// An equal part of what all ranks together may keep between turns, in bytes.
    pub fn parked_share(&self) -> u64 {
        self.control.parked_share()
    }

    /// Bytes that this rank may keep in memory until its next turn, if all ranks want to keep as much as `wants` says. `wants`
    /// lists cumulative sizes, beginning with the most urgent values.
    ///
    /// All ranks keep their values in one pool, in which messages in the page cache come first. If the pool does not suffice
    /// for all, the ranks whose turns come last in this round get the room: they begin the next round, and later others may
    /// have it. So the same memory saves reading and writing in every round.
    pub fn room_to_wait(&self, wants: &[u64]) -> u64 {
        let world = self.control.world_size();
        let cached: u64 = (0..world).map(|rank| self.control.rank(rank).cached()).sum();
        let kept =
            |ranks: Range<usize>| -> u64 { ranks.map(|rank| self.control.rank(rank).kept()).sum() };
        let (below, above) = (0..self.rank, self.rank + 1..world);
        let upwards = !self.turns.get().is_multiple_of(2);
        let (before, behind) = if upwards { (below, above) } else { (above, below) };
        let left = (self.parked_share() * world as u64).saturating_sub(cached + kept(before));
        let (later, kept_behind) = (behind.len() as u64, kept(behind));
        let room = |want: &u64| left.saturating_sub(kept_behind.max(later * want)).min(*want);
        wants.iter().map(room).max().unwrap_or(0)
    }

    /// Number of turns that this rank has taken.
    pub fn turns(&self) -> u64 {
        self.turns.get()
    }

    /// This rank's slot in the control block.
    pub fn status(&self) -> &RankStatus {
        self.control.rank(self.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Bytes in MiB that four ranks keep after rounds in which each wants the same; `each` is an equal part of the pool.
    fn kept(each: u64, wants: [u64; 2], rounds: usize) -> Vec<u64> {
        let control = Arc::new(Control::in_memory(4, 1).unwrap());
        control.set_parked_share(each * MIB);
        let locks: Vec<_> = (0..4).map(|rank| TurnLock::new(control.clone(), rank)).collect();
        for round in 0..rounds {
            for place in 0..4 {
                let lock = &locks[if round.is_multiple_of(2) { place } else { 3 - place }];
                lock.acquire().unwrap();
                lock.status().set_kept(lock.room_to_wait(&wants.map(|want| want * MIB)));
                let all: u64 = locks.iter().map(|lock| lock.status().kept()).sum();
                assert!(all <= 4 * each * MIB, "{all} bytes of {each} MiB each");
                lock.release();
            }
        }
        locks.iter().map(|lock| lock.status().kept() / MIB).collect()
    }

    #[test]
    fn those_that_come_next_keep_what_does_not_suffice_for_all() {
        assert_eq!(kept(8, [2, 8], 1), [8, 8, 8, 8]);
        assert_eq!(kept(4, [2, 8], 1), [2, 2, 4, 8]);
        assert_eq!(kept(4, [2, 8], 2), [8, 4, 2, 2]);
        assert_eq!(kept(1, [2, 8], 1), [0, 0, 2, 2]);
        assert_eq!(kept(1, [2, 8], 4), [2, 2, 0, 0]);
        assert_eq!(kept(0, [2, 8], 3), [0, 0, 0, 0]);
    }

    #[test]
    fn messages_in_the_page_cache_come_first() {
        let control = Arc::new(Control::in_memory(2, 2).unwrap());
        control.set_parked_share(8 * MIB);
        let locks = [0, 1].map(|rank| TurnLock::new(control.clone(), rank));
        for lock in &locks {
            lock.acquire().unwrap();
        }
        control.rank(0).set_cached(6 * MIB);
        assert_eq!(locks[0].room_to_wait(&[5 * MIB]), 5 * MIB);
        assert_eq!(locks[0].room_to_wait(&[6 * MIB]), 4 * MIB);
        assert_eq!(locks[1].room_to_wait(&[MIB, 16 * MIB]), 10 * MIB);
    }
}
