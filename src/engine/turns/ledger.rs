//! The ledger of the ranks' memory: what they may keep while they wait, and what their turns take.

use tracing::debug;

use super::control::Control;
use super::grant::given_out;
use super::growth::Growth;
use super::work::Work;

impl Control {
    /// Maximum number of bytes that each rank may keep in memory while it waits; initially 0.
    pub fn parked_share(&self) -> u64 {
        self.parked_share_of(self.work())
    }

    /// Maximum number of bytes that each rank may keep in memory while it waits, during this kind of work; initially 0.
    pub fn parked_share_of(&self, work: Work) -> u64 {
        self.grant(work).parked()
    }

    /// Sets the bytes that each rank may keep in memory while it waits during the current work, rounded to KiB. If it is
    /// less than before, waiting ranks give up what they keep beyond it.
    pub fn set_parked_share(&self, bytes: u64) {
        self.set_parked_share_of(self.work(), bytes);
    }

    /// [`set_parked_share`](Self::set_parked_share) for a kind of work.
    pub fn set_parked_share_of(&self, work: Work, bytes: u64) {
        debug!(bytes, ?work, "waiting ranks may keep");
        let before = self.parked_share_of(work);
        self.grant(work).set_parked(bytes);
        if bytes < before {
            self.ask_for_memory();
        }
    }

    /// Sets the bytes that all ranks together may take during a kind of work in addition to their memory at rest,
    /// rounded to KiB: kept values and residents' growth.
    pub fn set_room_of(&self, work: Work, bytes: u64) {
        debug!(bytes, ?work, "kept values and growth may take");
        self.grant(work).set_room(bytes);
    }

    /// Records the growth of a rank's memory, in bytes, in a turn of its epoch (from 0).
    pub fn note_growth(&self, work: Work, turn: usize, bytes: u64) {
        debug!(?work, turn, bytes, "has grown");
        self.growth(work).note(turn, bytes);
    }

    /// Forgets the growth that was recorded during this work since it was last taken.
    pub fn forget_growth(&self, work: Work) {
        self.growth(work).forget();
    }

    /// Maximum growth that has been recorded during this work since it was last taken, in bytes.
    pub fn noted_growth(&self, work: Work) -> u64 {
        self.growth(work).noted()
    }

    /// Growth that was recorded during this work since the last call; `None` without any.
    pub fn take_growth(&self, work: Work) -> Option<Growth> {
        self.growth(work).take()
    }

    /// Bytes that all ranks together may keep from this turn of an epoch (from 0) to the next one.
    pub fn pool_after(&self, turn: usize) -> u64 {
        let work = self.work();
        let shares = self.parked_share_of(work) * self.num_ranks() as u64;
        match self.growth(work).around(turn) {
            0 => shares,
            growth => {
                let rest = self.grant(work).room().saturating_sub(self.slots() as u64 * growth);
                shares.min(given_out(rest))
            }
        }
    }

    /// Whether one more rank may begin this turn of an epoch (from 0) beside `others`: a rank has ended the turn, and
    /// the growth of all of them fits beside what ranks keep. Without a limit for the ranks' memory, it always may.
    pub fn admits(&self, turn: usize, others: u32) -> bool {
        let work = self.work();
        let room = self.grant(work).room();
        if room == 0 {
            return true;
        }
        let taken: u64 =
            (0..self.num_ranks()).map(|r| self.rank(r).cached() + self.rank(r).kept()).sum();
        let growth = self.growth(work).of(turn);
        growth.is_some_and(|growth| taken + (u64::from(others) + 1) * growth <= room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_kept_depends_on_the_growth_of_the_next_turns() {
        let control = Control::in_memory(4, 2).unwrap();
        control.set_parked_share(4 << 20);
        control.set_room_of(Work::Training, 24 << 20);
        assert_eq!(control.pool_after(0), 16 << 20, "nothing is known");
        for (turn, mib) in [(0, 1), (1, 2), (2, 5)] {
            control.note_growth(Work::Training, turn, mib << 20);
            control.note_growth(Work::Evaluation, turn, 20 << 20);
        }
        let growth = control.take_growth(Work::Training);
        assert_eq!(growth, Some(Growth { most: 5 << 20, least: (5 << 20) + (5 << 17) }));
        let kept = given_out((14 << 20) - 2 * (5 << 17));
        assert_eq!([0, 1, 2].map(|turn| control.pool_after(turn)), [kept; 3], "in the first epoch");
        for (turn, mib) in [(0, 1), (1, 2), (2, 5)] {
            control.note_growth(Work::Training, turn, mib << 20);
        }
        control.take_growth(Work::Training);
        assert_eq!([0, 1, 2].map(|turn| control.pool_after(turn)), [16 << 20, kept, kept]);
        control.take_growth(Work::Evaluation);
        control.begin(Work::Evaluation);
        control.set_parked_share(4 << 20);
        assert_eq!(control.pool_after(0), 0);
    }

    #[test]
    fn a_turn_begins_beside_others_once_its_memory_is_known_to_fit() {
        let control = Control::in_memory(4, 2).unwrap();
        assert!(control.admits(1, 1), "without a limit");
        control.set_room_of(Work::Training, 10 << 20);
        assert!(!control.admits(1, 1), "no rank has ended this turn");
        control.note_growth(Work::Training, 1, 4 << 20);
        assert!(control.admits(1, 1));
        assert!(!control.admits(1, 2) && !control.admits(2, 1));
        control.rank(3).set_kept_kib(1 << 10);
        assert!(!control.admits(1, 1), "a quarter more than was recorded");
        control.take_growth(Work::Training);
        assert!(control.admits(1, 1) && !control.admits(1, 2));
        assert!(!control.admits(2, 1), "no rank has ended this turn");
    }
}
