//! The ledger of the ranks' memory: what they may keep while they wait, and what their turns take.

use tracing::debug;

use super::control::Control;
use super::grant::given_out;
use super::growth::TURNS;
use super::status::Activity;
use super::work::Work;

impl Control {
    /// Maximum number of bytes that each rank may keep in memory while it waits, where no launcher sets the room of all
    /// ranks; initially 0.
    pub fn parked_share(&self) -> u64 {
        self.grant(self.work()).parked.get()
    }

    /// Sets the bytes that each rank may keep in memory while it waits during the current work, rounded to KiB. If it is
    /// less than before, waiting ranks give up what they keep beyond it.
    pub fn set_parked_share(&self, bytes: u64) {
        let before = self.parked_share();
        self.grant(self.work()).parked.set(bytes);
        if bytes < before {
            self.ask_for_memory();
        }
    }

    /// Sets the bytes that all ranks together may take during a kind of work in addition to their memory at rest,
    /// rounded to KiB: kept values and residents' growth.
    pub fn set_room_of(&self, work: Work, bytes: u64) {
        debug!(bytes, ?work, "kept values and growth may take");
        self.grant(work).room.set(bytes);
    }

    /// The bytes that [`set_room_of`](Self::set_room_of) has set; 0 without a limit.
    pub fn room_of(&self, work: Work) -> u64 {
        self.grant(work).room.get()
    }

    /// Sets the growth of turns that no rank has ended, in bytes; `None` if nothing is known of them. It holds until the
    /// first epoch or evaluation has been measured.
    pub fn assume_growth(&self, work: Work, bytes: Option<u64>) {
        debug!(bytes, ?work, "a turn is assumed to grow by");
        self.growth(work).assume(bytes);
    }

    /// Compares the partitions of the ranks, given as numbers of nodes and edges. In a first epoch, the growth of a rank
    /// shows that of the others if it has at least four fifths of the largest partition's nodes and edges, or is the last one
    /// of a round. No sizes mean that partitions do not show how ranks grow during this work.
    pub fn compare_ranks(&self, work: Work, sizes: &[[u64; 2]]) {
        let largest = |which: usize| sizes.iter().map(|size| size[which]).max().unwrap_or(0);
        let most = [largest(0), largest(1)];
        for slot in 0..self.num_ranks() {
            let is_small =
                |size: &[u64; 2]| size.iter().zip(most).any(|(own, most)| 5 * own < 4 * most);
            self.rank(slot).set_small(work, sizes.get(slot).is_none_or(is_small));
        }
    }

    /// Records the growth of a rank's memory, in bytes, in a turn of its epoch (from 0); `shows` if no other rank is
    /// expected to grow notably more.
    pub fn note_growth(&self, work: Work, turn: usize, bytes: u64, shows: bool) {
        debug!(?work, turn, bytes, shows, "has grown");
        self.growth(work).note(turn, bytes, shows);
    }

    /// Bytes that all ranks together may keep from this turn of an epoch (from 0) to the next one: what the residents'
    /// growth in these two turns leaves of the room. They may keep nothing if the growth is not known. After the number of
    /// residents was lowered, those that are still in their turns count.
    pub fn pool_after(&self, work: Work, turn: usize) -> u64 {
        match self.room_of(work) {
            0 => self.grant(work).parked.get() * self.num_ranks() as u64,
            room => {
                let ranks = (0..self.num_ranks()).map(|rank| self.rank(rank).activity());
                let in_turns = ranks.filter(|activity| *activity == Activity::Resident).count();
                let residents = self.slots_of(work).max(in_turns);
                let growth = self.growth(work).around(turn, residents as u64);
                growth.map_or(0, |growth| given_out(room.saturating_sub(growth)))
            }
        }
    }

    /// Maximum of [`pool_after`](Self::pool_after) for all turns of an epoch.
    pub fn largest_pool(&self, work: Work) -> u64 {
        (0..TURNS).map(|turn| self.pool_after(work, turn)).max().unwrap_or(0)
    }

    /// Minimum of [`pool_after`](Self::pool_after) for all turns of an epoch.
    pub fn least_pool(&self, work: Work) -> u64 {
        (0..TURNS).map(|turn| self.pool_after(work, turn)).min().unwrap_or(0)
    }

    /// Bytes that all ranks together have claimed: kept values and messages in the page cache.
    pub fn taken(&self) -> u64 {
        let ranks = (0..self.num_ranks()).map(|rank| self.rank(rank));
        ranks.map(|status| status.cached() + status.kept()).sum()
    }

    /// Whether one more rank may begin this turn of an epoch (from 0) beside `others`: its growth is known, and
    /// that of all of them fits beside what ranks keep. Without a limit for the ranks' memory, it always may.
    pub fn admits(&self, work: Work, turn: usize, others: u32) -> bool {
        let room = self.grant(work).room.get();
        if room == 0 {
            return true;
        }
        let growth = self.growth(work).of(turn);
        growth.is_some_and(|growth| self.taken() + (u64::from(others) + 1) * growth <= room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_kept_depends_on_the_growth_of_the_next_turns() {
        let control = Control::in_memory(4, 2).unwrap();
        control.set_parked_share(4 << 20);
        let kept = |turn| control.pool_after(Work::Training, turn);
        assert_eq!(kept(0), 16 << 20, "without a limit for all");
        control.set_room_of(Work::Training, 24 << 20);
        control.assume_growth(Work::Training, None);
        assert_eq!(kept(0), 0, "nothing is known");
        for (turn, mib) in [(0, 1), (1, 2), (2, 6)] {
            control.note_growth(Work::Training, turn, mib << 20, true);
            control.note_growth(Work::Evaluation, turn, 20 << 20, true);
        }
        let less = |bytes: u64| given_out((24 << 20) - bytes);
        assert_eq!([0, 1, 2].map(kept), [less(5 << 20), less(15 << 20), 0], "in the first epoch");
        assert_eq!(control.growth(Work::Training).take(), Some(6 << 20));
        for (turn, mib) in [(0, 1), (1, 2), (2, 6)] {
            control.note_growth(Work::Training, turn, mib << 20, true);
        }
        control.growth(Work::Training).take();
        let most = less(2 * ((6 << 20) + (6 << 17)));
        assert_eq!([0, 1, 2].map(kept), [less(2 * ((2 << 20) + (2 << 17))), most, most]);
    }

    #[test]
    fn a_rank_with_a_small_partition_shows_nothing() {
        let control = Control::in_memory(4, 2).unwrap();
        control.set_room_of(Work::Training, 10 << 20);
        let small = |work| [0, 1, 2, 3].map(|slot| control.rank(slot).is_small(work));
        control.compare_ranks(Work::Training, &[[80, 900], [79, 1000], [100, 799], [0, 0]]);
        control.compare_ranks(Work::Evaluation, &[]);
        assert_eq!(small(Work::Training), [false, true, true, true]);
        assert_eq!((small(Work::Evaluation), small(Work::Propagation)), ([true; 4], [false; 4]));
        control.note_growth(Work::Training, 1, 1 << 20, false);
        assert!(!control.admits(Work::Training, 1, 1));
        control.note_growth(Work::Training, 1, 1 << 20, true);
        assert!(control.admits(Work::Training, 1, 1));
    }

    #[test]
    fn a_turn_begins_beside_others_once_its_memory_is_known_to_fit() {
        let control = Control::in_memory(4, 2).unwrap();
        assert!(control.admits(Work::Training, 1, 1), "without a limit");
        control.set_room_of(Work::Training, 10 << 20);
        assert!(!control.admits(Work::Training, 1, 1), "no rank has ended this turn");
        control.note_growth(Work::Training, 1, 4 << 20, true);
        assert!(control.admits(Work::Training, 1, 1));
        assert!(!control.admits(Work::Training, 1, 2) && !control.admits(Work::Training, 2, 1));
        control.rank(3).kept.set(1 << 20);
        assert!(!control.admits(Work::Training, 1, 1), "a quarter more than was recorded");
        control.growth(Work::Training).take();
        assert!(control.admits(Work::Training, 1, 1) && !control.admits(Work::Training, 1, 2));
        assert!(!control.admits(Work::Training, 2, 1), "no rank has ended this turn");
    }
}
