//! Growth of ranks' memory in their turns.

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of turns per epoch that are distinguished; later ones count as the last one.
const TURNS: usize = 62;
/// Fraction (1 / n) of recorded growth that is added to it, because the same turn differs between epochs.
const OF_EPOCHS: u32 = 8;
/// Fraction (1 / n) that is added in the first period, because ranks differ as well.
const OF_RANKS: u32 = 4;

/// The largest growth of any rank in each turn of an epoch, in KiB. Ranks record it; the launcher publishes it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct GrowthTable {
    /// Recorded since the launcher's last call; 0 for a turn that no rank has ended.
    noted: [AtomicU32; TURNS],
    /// Published: recorded in the previous period, or earlier and reduced since; 0 for a turn that no rank ended then.
    known: [AtomicU32; TURNS],
    /// Maximum of the last two periods; 0 before the first.
    most: AtomicU32,
    /// Maximum of the last period.
    last: AtomicU32,
    /// Number of periods.
    periods: AtomicU32,
    _unused: u32,
}

/// Growth in turns, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Growth in the turn with the largest one.
    pub most: u64,
    /// Growth in the two consecutive turns with the smallest one.
    pub least: u64,
}

impl GrowthTable {
    /// Records a rank's growth in a turn of its epoch, in bytes.
    pub(super) fn note(&self, turn: usize, bytes: u64) {
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).max(1);
        self.noted[turn.min(TURNS - 1)].fetch_max(kib, Ordering::SeqCst);
    }

    /// Expected maximum growth of a rank in this turn and the next one, in bytes; 0 if nothing is known. Turns without
    /// a record count with the largest growth.
    pub(super) fn around(&self, turn: usize) -> u64 {
        let most = self.most.load(Ordering::SeqCst);
        if most == 0 {
            return 0;
        }
        let largest = u64::from(most + most / OF_EPOCHS) << 10;
        let of = |turn| self.of(turn).unwrap_or(largest);
        of(turn).max(of(turn + 1))
    }

    /// Growth of a rank in this turn, in bytes; `None` if no rank has ended the turn in this period or the one before. It
    /// is an eighth more than recorded, because the same turn differs between epochs; in the first period, it is a quarter
    /// more, because ranks differ.
    ///
    /// The first epoch may begin with turns that the others do not have: exchanges of values that stay the same. So in
    /// the second period, a turn counts as the largest of the first epoch from this number on.
    pub(super) fn of(&self, turn: usize) -> Option<u64> {
        let turn = turn.min(TURNS - 1);
        let noted = self.noted[turn].load(Ordering::SeqCst);
        let periods = self.periods.load(Ordering::SeqCst);
        let end = if periods == 1 { TURNS } else { turn + 1 };
        let known = self.known[turn..end].iter().map(|known| known.load(Ordering::SeqCst));
        let known = known.fold(noted, u32::max);
        let more = known / if periods == 0 { OF_RANKS } else { OF_EPOCHS };
        (known > 0).then_some(u64::from(known + more) << 10)
    }

    /// Maximum of all growth recorded since the last call of [`take`](Self::take), in bytes.
    pub(super) fn noted(&self) -> u64 {
        let noted = self.noted.iter().map(|noted| noted.load(Ordering::SeqCst));
        u64::from(noted.max().unwrap_or(0)) << 10
    }

    /// Forgets what was recorded since the last call of [`take`](Self::take).
    pub(super) fn forget(&self) {
        self.noted.iter().for_each(|noted| noted.store(0, Ordering::SeqCst));
    }

    /// Publishes the growth recorded since the last call; `None` if no turn has ended since.
    pub(super) fn take(&self) -> Option<Growth> {
        let noted = self.noted.each_ref().map(|noted| noted.swap(0, Ordering::SeqCst));
        let most = noted.into_iter().max().filter(|most| *most > 0)?;
        let periods = self.periods.fetch_add(1, Ordering::SeqCst);
        for (known, noted) in self.known.iter().zip(noted) {
            // Batches differ, so older values lose weight. Those of the first period may belong to other turns.
            let before = known.load(Ordering::SeqCst);
            let faded = if noted == 0 || periods == 1 { 0 } else { before - before / 4 };
            known.store(noted.max(faded), Ordering::SeqCst);
        }
        // A launcher that was delayed may have seen only a part of an epoch in this period, and the rest in the
        // previous one.
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
        let zero = || AtomicU32::new(0);
        GrowthTable { noted, known, most: zero(), last: zero(), periods: zero(), _unused: 0 }
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
        assert_eq!((table.around(0), table.noted()), (0, 7 << 10), "not known yet");
        assert_eq!((table.of(1), table.of(6)), (Some(5 << 10), None));
        assert_eq!(table.take(), Some(Growth { most: 7 << 10, least: 7 << 10 }));
        note(&table, &[2, 4, 2, 3, 3, 7]);
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
        assert_eq!([0, 1, 2].map(|turn| table.around(turn) >> 10), [1, 10, 10]);
        note(&table, &[1, 2, 3]);
        assert_eq!(table.take().unwrap().most, 3 << 10);
        // A larger recorded value counts at once.
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
    fn the_first_epoch_may_begin_with_turns_that_the_others_do_not_have() {
        let table = table();
        note(&table, &[1, 2, 1, 8, 3, 1]);
        table.take();
        // The largest turn of the second epoch is number 2 or earlier.
        assert_eq!([0, 2, 3, 4].map(|turn| table.around(turn) >> 10), [9, 9, 9, 3]);
        note(&table, &[1, 1, 8, 3, 1]);
        table.take();
        assert_eq!([0, 1, 2, 3].map(|turn| table.around(turn) >> 10), [1, 9, 9, 3]);
    }

    #[test]
    fn late_turns_share_a_place() {
        let table = table();
        table.note(TURNS + 7, 1 << 20);
        let least = (1 << 20) + (1 << 17);
        assert_eq!(table.take(), Some(Growth { most: 1 << 20, least }));
        assert_eq!(table.around(usize::MAX - 1), least);
    }
}
