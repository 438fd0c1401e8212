//! Claims of a rank on the memory of all ranks.

use super::TurnLock;
use crate::engine::turns::Work;
use crate::engine::turns::cells::kib;

impl TurnLock {
    /// A rank's equal share of the bytes that all ranks together may keep from this turn to the next one.
    pub fn parked_share(&self) -> u64 {
        self.pool_bytes() / self.control.num_ranks() as u64
    }

    /// Page cache for the messages of this rank's next turn, in bytes: an equal share of the pool without memory that
    /// ranks cannot spill. The receivers read these messages in their turns after that, so both turns must leave room.
    pub fn cache_share(&self) -> u64 {
        let next = self.control.pool_after(self.work.get(), self.number.get() + 1);
        self.share_for_messages(self.pool_bytes().min(next))
    }

    /// The same for messages that stay for any number of turns.
    pub fn lasting_cache_share(&self) -> u64 {
        self.share_for_messages(self.control.least_pool(self.work.get()))
    }

    fn share_for_messages(&self, pool: u64) -> u64 {
        let ranks = 0..self.control.num_ranks();
        let unspillable: u64 = ranks.map(|rank| self.control.rank(rank).unspillable()).sum();
        pool.saturating_sub(unspillable) / self.control.num_ranks() as u64
    }

    /// A rank's equal share of the bytes that all ranks together may keep when this work begins.
    pub fn first_share_of(&self, work: Work) -> u64 {
        self.control.pool_after(work, 0) / self.control.num_ranks() as u64
    }

    /// Bytes that this rank could claim now; see [`claim_room`](Self::claim_room).
    pub fn room_to_wait(&self, wants: &[u64]) -> u64 {
        let others = self.control.taken().saturating_sub(self.status().kept());
        self.room_of(self.pool_bytes().saturating_sub(others), wants)
    }

    /// Claims memory until this rank's next turn, assuming that all ranks want to keep `wants`, and returns the bytes
    /// that this rank may keep. `wants` lists cumulative sizes, most urgent values first.
    ///
    /// All ranks keep their values in one pool, from which memory that cannot be spilled and messages in the page cache
    /// are served first. If it is too small, the ranks with the last turns of this round get the room: they begin the next round, and others may then
    /// use it. So the same memory saves reading and writing in every round.
    pub fn claim_room(&self, wants: &[u64]) -> u64 {
        let own = self.status().kept.0.get();
        let choose = |left: u64| self.room_of(left << 10, wants).div_ceil(1 << 10);
        let kib = self.control.pool().claim(self.pool_bytes() >> 10, own, choose);
        self.status().kept.0.set(kib);
        self.status().kept()
    }

    /// Bytes that this rank has to give up while it waits; 0 unless it has been asked since the last call. Ranks with later
    /// turns give up theirs first.
    pub fn excess(&self) -> u64 {
        let asks = self.control.asks();
        if self.asks.replace(asks) == asks {
            return 0;
        }
        let ranks = 0..self.control.num_ranks();
        let next = |rank| self.ticket(rank, u64::from(self.control.rank(rank).turns.get()));
        let later = ranks.filter(|rank| next(*rank) > next(self.slot));
        // Before what the others give up, as they may do so in between.
        let taken = self.control.taken();
        let theirs: u64 = later.map(|rank| self.control.rank(rank).can_give_up()).sum();
        let excess = taken.saturating_sub(self.pool_bytes()).saturating_sub(theirs);
        excess.min(self.status().kept())
    }

    /// Replaces this rank's claim by the bytes that it actually keeps.
    pub fn keep(&self, bytes: u64) {
        self.control.pool().settle(self.status().kept.0.get(), kib(bytes));
        self.status().kept.set(bytes);
    }

    /// Sets the bytes of page cache that this rank's messages take.
    pub fn set_cached(&self, bytes: u64) {
        self.control.pool().settle(self.status().cached.0.get(), kib(bytes));
        self.status().cached.set(bytes);
    }

    /// Bytes that all ranks together may keep from this turn to the next one.
    fn pool_bytes(&self) -> u64 {
        self.control.pool_after(self.work.get(), self.number.get())
    }

    /// Part of `left` bytes that this rank may keep; ranks after it in this round get what they want beyond their
    /// current claims.
    fn room_of(&self, left: u64, wants: &[u64]) -> u64 {
        let upwards = !self.turns.get().is_multiple_of(2);
        let behind = if upwards { self.slot + 1..self.control.num_ranks() } else { 0..self.slot };
        let later = behind.len() as u64;
        let kept: u64 = behind.map(|rank| self.control.rank(rank).kept()).sum();
        let room = |want: &u64| left.saturating_sub((later * want).saturating_sub(kept)).min(*want);
        wants.iter().map(room).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::turns::Control;

    const MIB: u64 = 1 << 20;

    /// Bytes in MiB that four ranks keep after `rounds` rounds with the same wants; `each` is an equal share of the
    /// pool.
    fn kept(each: u64, wants: [u64; 2], rounds: usize) -> Vec<u64> {
        let control = Arc::new(Control::in_memory(4, 1).unwrap());
        control.set_parked_share(each * MIB);
        let locks: Vec<_> = (0..4).map(|rank| TurnLock::new(control.clone(), rank)).collect();
        for round in 0..rounds {
            for place in 0..4 {
                let lock = &locks[if round.is_multiple_of(2) { place } else { 3 - place }];
                lock.acquire(|| Ok(())).unwrap();
                lock.claim_room(&wants.map(|want| want * MIB));
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
    fn those_that_come_last_give_up_first() {
        let control = Arc::new(Control::in_memory(3, 1).unwrap());
        control.set_parked_share(4 * MIB);
        let locks = [0, 1, 2].map(|rank| TurnLock::new(control.clone(), rank));
        for lock in &locks {
            lock.acquire(|| Ok(())).unwrap();
            lock.keep(4 * MIB);
            lock.release();
        }
        let excess = || locks.each_ref().map(|lock| lock.excess() / MIB);
        assert_eq!(excess(), [0; 3], "none has been asked");
        control.set_parked_share(2 * MIB);
        assert_eq!(excess(), [4, 2, 0], "rank 2 begins the next round");
        assert_eq!(excess(), [0; 3], "once");
        control.set_parked_share(3 * MIB);
        assert_eq!(excess(), [0; 3], "more room");
    }

    #[test]
    fn messages_in_the_page_cache_come_first() {
        let control = Arc::new(Control::in_memory(2, 2).unwrap());
        control.set_parked_share(8 * MIB);
        let locks = [0, 1].map(|rank| TurnLock::new(control.clone(), rank));
        for lock in &locks {
            lock.acquire(|| Ok(())).unwrap();
        }
        locks[0].set_cached(6 * MIB);
        assert_eq!(locks[0].room_to_wait(&[5 * MIB]), 5 * MIB);
        assert_eq!(locks[0].room_to_wait(&[6 * MIB]), 4 * MIB);
        assert_eq!(locks[1].room_to_wait(&[MIB, 16 * MIB]), 10 * MIB);
    }

    #[test]
    fn residents_that_pause_side_by_side_share_the_pool() {
        let control = Arc::new(Control::in_memory(2, 2).unwrap());
        control.set_parked_share(8 * MIB);
        let locks = [0, 1].map(|rank| TurnLock::new(control.clone(), rank));
        for lock in &locks {
            lock.acquire(|| Ok(())).unwrap();
        }
        // Rank 1 is last in this round, and rank 0 has no claim yet when it claims everything.
        assert_eq!(locks[1].claim_room(&[16 * MIB]), 16 * MIB);
        assert_eq!(locks[0].claim_room(&[4 * MIB]), 0);
        locks[1].keep(13 * MIB);
        assert_eq!(locks[0].claim_room(&[4 * MIB]), 3 * MIB);
        assert_eq!(locks[1].claim_room(&[16 * MIB]), 13 * MIB);
    }

    #[test]
    fn messages_take_what_memory_that_cannot_be_spilled_leaves() {
        let control = Arc::new(Control::in_memory(2, 1).unwrap());
        let lock = TurnLock::new(control.clone(), 0);
        control.set_room_of(Work::Training, 64 * MIB);
        for _epoch in 0..2 {
            for (turn, mib) in [(0, 8), (1, 8), (2, 8), (3, 32)] {
                control.note_growth(Work::Training, turn, mib * MIB, true);
            }
            control.growth(Work::Training).take();
        }
        let pool = [0, 3].map(|turn| control.pool_after(Work::Training, turn));
        assert!(pool[0] > pool[1] && pool[1] > 0, "{pool:?}");
        assert_eq!([lock.cache_share(), lock.lasting_cache_share()], pool.map(|pool| pool / 2));
        control.rank(1).set_unspillable(4 * MIB);
        let left = pool.map(|pool| pool / 2 - 2 * MIB);
        assert_eq!([lock.cache_share(), lock.lasting_cache_share()], left);
        control.rank(0).set_unspillable(64 * MIB);
        assert_eq!([lock.cache_share(), lock.lasting_cache_share()], [0, 0]);
    }
}
