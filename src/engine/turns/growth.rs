//! By how much the memory of ranks grows in their turns.

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of turns of an epoch that are told apart; later ones count as the last of these.
const TURNS: usize = 63;

/// The largest growth of a rank in each turn of an epoch, in KiB: noted by the ranks, made known by the launcher.
#[derive(Debug)]
#[repr(C)]
pub(super) struct GrowthTable {
    /// Noted since the launcher last looked; 0 for a turn that no rank has ended.
    noted: [AtomicU32; TURNS],
    /// Noted in the period before, or earlier and faded since; 0 for a turn that no rank ended in it.
    known: [AtomicU32; TURNS],
    /// The largest of the last two periods; 0 before the first.
    most: AtomicU32,
    /// The largest of the last period.
    last: AtomicU32,
}

/// The growth that turns have had, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// In the turn in which it was the largest.
    pub most: u64,
    /// In the two turns, one after the other, in which it was the least.
    pub least: u64,
}

impl GrowthTable {
    /// Notes by how many bytes a rank has grown in a turn of its epoch.
    pub(super) fn note(&self, turn: usize, bytes: u64) {
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).max(1);
        self.noted[turn.min(TURNS - 1)].fetch_max(kib, Ordering::SeqCst);
    }

    /// The most bytes by which a rank is expected to grow in a turn and in the one that follows; 0 if nothing is known. A turn of which
    /// nothing is known counts as the one with the largest growth.
    pub(super) fn around(&self, turn: usize) -> u64 {
        let most = self.most.load(Ordering::SeqCst);
        if most == 0 {
            return 0;
        }
        let of = |turn: usize| {
            let turn = turn.min(TURNS - 1);
            let known = self.known[turn].load(Ordering::SeqCst);
            let known = known.max(self.noted[turn].load(Ordering::SeqCst));
            if known == 0 { most } else { known }
        };
        u64::from(of(turn).max(of(turn + 1))) << 10
    }

    /// Makes known what has been noted since this was last called; `None` if no turn has ended since.
    pub(super) fn take(&self) -> Option<Growth> {
        let noted = self.noted.each_ref().map(|noted| noted.swap(0, Ordering::SeqCst));
        let most = noted.into_iter().max().filter(|most| *most > 0)?;
        for (known, noted) in self.known.iter().zip(noted) {
            // Batches differ: what was known fades away.
            let before = known.load(Ordering::SeqCst);
            let faded = if noted == 0 { 0 } else { before - before / 4 };
            known.store(noted.max(faded), Ordering::SeqCst);
        }
        // A launcher that has not run for a while may have seen a part of an epoch only; the rest was in the period before.
        let most = most.max(self.last.swap(most, Ordering::SeqCst));
        self.most.store(most, Ordering::SeqCst);
        let turns = noted.iter().position(|noted| *noted == 0).unwrap_or(TURNS);
        let least = (0..turns.max(1)).map(|turn| self.around(turn)).min().unwrap_or(0);
        Some(Growth { most: u64::from(most) << 10, least })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> GrowthTable {
        let zeros = || std::array::from_fn(|_| AtomicU32::new(0));
        let (noted, known) = (zeros(), zeros());
        GrowthTable { noted, known, most: AtomicU32::new(0), last: AtomicU32::new(0) }
    }

    fn note(table: &GrowthTable, kib: &[u64]) {
        kib.iter().enumerate().for_each(|(turn, kib)| table.note(turn, kib << 10));
    }

    #[test]
    fn the_larger_of_two_turns_counts() {
        let table = table();
        assert_eq!((table.take(), table.around(0)), (None, 0));
        note(&table, &[1, 4, 2, 3, 3, 7]);
        note(&table, &[2, 1, 2]);
        assert_eq!(table.around(0), 0, "not known yet");
        assert_eq!(table.take(), Some(Growth { most: 7 << 10, least: 3 << 10 }));
        let around: Vec<_> = (0..8).map(|turn| table.around(turn) >> 10).collect();
        assert_eq!(around, [4, 4, 3, 3, 7, 7, 7, 7]);
        assert_eq!(table.take(), None);
    }

    #[test]
    fn a_turn_that_was_not_seen_counts_as_the_largest() {
        let table = table();
        note(&table, &[1, 1, 9]);
        table.take();
        note(&table, &[1, 1]);
        assert_eq!(table.take().unwrap().most, 9 << 10);
        assert_eq!([0, 1, 2].map(|turn| table.around(turn) >> 10), [1, 9, 9]);
        note(&table, &[1, 2, 3]);
        assert_eq!(table.take().unwrap().most, 3 << 10);
        // What is noted counts at once if it is more.
        note(&table, &[5]);
        assert_eq!(table.around(0), 5 << 10);
        note(&table, &[1, 1, 1]);
        table.take();
        assert_eq!(table.around(0), 5 << 10);
        for faded in [4, 3] {
            note(&table, &[1, 1, 1]);
            table.take();
            assert_eq!(table.around(0), faded << 10);
        }
    }

    #[test]
    fn late_turns_share_a_place() {
        let table = table();
        table.note(TURNS + 7, 1 << 20);
        assert_eq!(table.take(), Some(Growth { most: 1 << 20, least: 1 << 20 }));
        assert_eq!(table.around(usize::MAX - 1), 1 << 20);
    }
}
