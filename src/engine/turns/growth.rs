//! Growth of ranks' memory in their turns.

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of turns per epoch that are distinguished; later ones count as the last one.
pub(super) const TURNS: usize = 61;
/// Fraction (1 / n) of recorded growth that is added to it, because the same turn differs between epochs.
const OF_EPOCHS: u32 = 8;
/// Fraction (1 / n) that is added in the first period, because ranks differ as well.
const OF_RANKS: u32 = 4;
/// Assumed growth of turns of which nothing is known.
const UNKNOWN: u32 = u32::MAX;
/// Bit of a record that shows how much other ranks grow.
const SHOWN: u32 = 1 << 31;

/// The largest growth of any rank in each turn of an epoch, in KiB. Ranks record it; the launcher publishes it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct GrowthTable {
    /// Recorded since the launcher's last call, with [`SHOWN`]; 0 for a turn that no rank has ended.
    noted: [AtomicU32; TURNS],
    /// Published: recorded in the previous period, or earlier and reduced since; 0 for a turn that no rank ended then.
    known: [AtomicU32; TURNS],
    /// Maximum of the last two periods; 0 before the first.
    most: AtomicU32,
    /// Maximum of the last period.
    last: AtomicU32,
    periods: AtomicU32,
    /// Growth of turns that have no record, in the first period; [`UNKNOWN`] if nothing is known of them.
    assumed: AtomicU32,
    /// 1 once a rank has begun the first epoch or batch.
    begun: AtomicU32,
    _unused: u32,
}

impl GrowthTable {
    /// Records a rank's growth in a turn of its epoch, in bytes; `shows` if no other rank is expected to grow notably more.
    pub(super) fn note(&self, turn: usize, bytes: u64, shows: bool) {
        let new = kib(bytes).max(1);
        let mark = if shows { SHOWN } else { 0 };
        let noted = &self.noted[turn.min(TURNS - 1)];
        let more = |old: u32| Some((old & !SHOWN).max(new) | old & SHOWN | mark);
        // The function always returns a value.
        let _ = noted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
    }

    /// Sets the growth of turns that have no record, in bytes; `None` if nothing is known of them.
    pub(super) fn assume(&self, bytes: Option<u64>) {
        self.assumed.store(bytes.map_or(UNKNOWN, kib), Ordering::SeqCst);
    }

    /// Begins the first epoch or batch of a rank. What was recorded before that of the first rank belongs to other work.
    pub(super) fn begin(&self) {
        if self.begun.swap(1, Ordering::SeqCst) == 0 {
            self.forget();
        }
    }

    /// Whether a rank has begun the first epoch or batch.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst) > 0
    }

    /// Bytes by which all residents grow at most, in this turn or the next one, if there may be `residents` of them;
    /// `None` if nothing is known of one of the turns. A rank is alone in a turn without a record, because no other one
    /// is admitted.
    pub(super) fn around(&self, turn: usize, residents: u64) -> Option<u64> {
        let both = [turn, turn.saturating_add(1)].map(|turn| match self.of(turn) {
            Some(growth) => Some(residents * growth),
            None => self.without_record(residents),
        });
        both.into_iter().try_fold(0, |most, growth| Some(growth?.max(most)))
    }

    /// Bytes by which all residents grow in turns without a record: in the first period, one of them by what is assumed, or
    /// by the largest growth so far; later, all by the largest growth.
    fn without_record(&self, residents: u64) -> Option<u64> {
        let most = self.most.load(Ordering::SeqCst);
        if most > 0 {
            return Some(residents * (u64::from(most + most / OF_EPOCHS) << 10));
        }
        let assumed = self.assumed.load(Ordering::SeqCst);
        let noted = self.noted();
        let noted = noted + noted / u64::from(OF_RANKS);
        (assumed != UNKNOWN).then(|| noted.max(u64::from(assumed) << 10))
    }

    /// Growth of a rank in this turn, in bytes; `None` if no record of this period shows it, and no rank has ended the turn
    /// in the period before. It is an eighth more than recorded, because the same turn differs between epochs; in the first period, it is a quarter
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
        let known = known.fold(0, u32::max);
        // In the first period, the last place holds different turns.
        let is_shown = noted & SHOWN > 0 && (periods > 0 || turn < TURNS - 1);
        if known == 0 && !is_shown {
            return None;
        }
        let known = known.max(noted & !SHOWN);
        let more = known / if periods == 0 { OF_RANKS } else { OF_EPOCHS };
        Some(u64::from(known + more) << 10)
    }

    /// Maximum of all growth recorded since the last call of [`take`](Self::take), in bytes.
    pub(crate) fn noted(&self) -> u64 {
        let noted = self.noted.iter().map(|noted| noted.load(Ordering::SeqCst) & !SHOWN);
        u64::from(noted.max().unwrap_or(0)) << 10
    }

    /// Forgets what was recorded since the last call of [`take`](Self::take).
    pub(crate) fn forget(&self) {
        self.noted.iter().for_each(|noted| noted.store(0, Ordering::SeqCst));
    }

    /// Publishes the growth recorded since the last call; returns the maximum of the last two periods, in bytes, or `None`
    /// if no turn has ended since.
    pub(crate) fn take(&self) -> Option<u64> {
        let noted = self.noted.each_ref().map(|noted| noted.swap(0, Ordering::SeqCst) & !SHOWN);
        let most = noted.into_iter().max().filter(|most| *most > 0)?;
        let periods = self.periods.fetch_add(1, Ordering::SeqCst);
        for (known, noted) in self.known.iter().zip(noted) {
            // Batches differ, so older values lose weight: within one period, only as much as `of` adds, because the records of some
            // ranks may arrive in every second period. Those of the first period may belong to other turns.
            let before = known.load(Ordering::SeqCst);
            let fades = noted > 0 && periods != 1;
            let faded = if fades { before - before.div_ceil(OF_EPOCHS + 1) } else { 0 };
            known.store(noted.max(faded), Ordering::SeqCst);
        }
        // A launcher that was delayed may have seen only a part of an epoch in this period, and the rest in the
        // previous one.
        let most = most.max(self.last.swap(most, Ordering::SeqCst));
        self.most.store(most, Ordering::SeqCst);
        Some(u64::from(most) << 10)
    }
}

/// Whole KiB that hold this number of bytes, below [`SHOWN`].
fn kib(bytes: u64) -> u32 {
    bytes.div_ceil(1 << 10).min(u64::from(SHOWN - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> GrowthTable {
        let zeros = || std::array::from_fn(|_| AtomicU32::new(0));
        let (noted, known) = (zeros(), zeros());
        let zero = || AtomicU32::new(0);
        let (most, last, periods, begun) = (zero(), zero(), zero(), zero());
        let assumed = AtomicU32::new(UNKNOWN);
        GrowthTable { noted, known, most, last, periods, assumed, begun, _unused: 0 }
    }

    fn note(table: &GrowthTable, kib: &[u64]) {
        kib.iter().enumerate().for_each(|(turn, kib)| table.note(turn, kib << 10, true));
    }

    /// KiB for one resident in these turns.
    fn around<const N: usize>(table: &GrowthTable, turns: [usize; N]) -> [u64; N] {
        turns.map(|turn| table.around(turn, 1).unwrap() >> 10)
    }

    #[test]
    fn the_larger_of_two_turns_counts() {
        let table = table();
        assert_eq!((table.take(), table.around(0, 1)), (None, None));
        note(&table, &[1, 4, 2, 3, 3, 7]);
        note(&table, &[2, 1, 2]);
        assert_eq!((around(&table, [0, 1]), table.noted()), ([5, 5], 7 << 10));
        assert_eq!((table.of(1), table.of(6)), (Some(5 << 10), None));
        assert_eq!(table.around(5, 1), None, "nothing is known of turn 6");
        assert_eq!(table.take(), Some(7 << 10));
        note(&table, &[2, 4, 2, 3, 3, 7]);
        assert_eq!(table.take(), Some(7 << 10));
        assert_eq!(around(&table, [0, 1, 2, 3, 4, 5, 6, 7]), [4, 4, 3, 3, 7, 7, 7, 7]);
        assert_eq!(table.around(2, 3), Some(9 << 10), "three residents");
        assert_eq!(table.take(), None);
    }

    #[test]
    fn a_turn_without_a_record_grows_as_assumed_or_as_the_largest_so_far() {
        let table = table();
        table.assume(Some(8 << 10));
        assert_eq!(table.around(0, 2), Some(8 << 10), "the first rank is alone");
        note(&table, &[4]);
        assert_eq!(table.around(0, 2), Some(10 << 10), "two residents in turn 0");
        note(&table, &[1, 16]);
        assert_eq!(table.around(1, 1), Some(20 << 10), "turn 2 may be as large as turn 1");
        table.assume(None);
        assert_eq!(table.around(1, 1), None);
    }

    #[test]
    fn a_small_rank_does_not_show_what_a_turn_takes() {
        let table = table();
        table.assume(Some(8 << 10));
        table.note(0, 1 << 10, false);
        assert_eq!((table.of(0), table.around(0, 2)), (None, Some(8 << 10)));
        table.note(0, 4 << 10, true);
        table.note(0, 16 << 10, false);
        assert_eq!(table.of(0), Some(20 << 10), "a small rank may grow by more");
        assert_eq!(table.take(), Some(16 << 10));
        table.note(1, 2 << 10, false);
        assert_eq!((table.of(0), table.of(1)), (Some(18 << 10), None));
    }

    #[test]
    fn what_was_recorded_before_the_first_epoch_is_forgotten() {
        let table = table();
        note(&table, &[9]);
        table.begin();
        assert_eq!(table.noted(), 0, "data were loaded");
        note(&table, &[4]);
        table.begin();
        assert_eq!(table.noted(), 4 << 10);
    }

    #[test]
    fn a_turn_that_was_not_seen_counts_as_the_largest() {
        let table = table();
        note(&table, &[1, 1, 9]);
        table.take();
        note(&table, &[1, 1]);
        assert_eq!(table.take(), Some(9 << 10));
        assert_eq!(around(&table, [0, 1, 2]), [1, 10, 10]);
        note(&table, &[1, 2, 3]);
        assert_eq!(table.take(), Some(3 << 10));
        // A larger recorded value counts at once.
        note(&table, &[5]);
        assert_eq!(around(&table, [0]), [5]);
        note(&table, &[1, 1, 1]);
        table.take();
        assert_eq!(around(&table, [0]), [5]);
        for faded in [4, 3] {
            note(&table, &[1, 1, 1]);
            table.take();
            assert_eq!(around(&table, [0]), [faded]);
        }
    }

    #[test]
    fn the_first_epoch_may_begin_with_turns_that_the_others_do_not_have() {
        let table = table();
        note(&table, &[1, 2, 1, 8, 3, 1]);
        table.take();
        // The largest turn of the second epoch is number 2 or earlier.
        assert_eq!(around(&table, [0, 2, 3, 4]), [9, 9, 9, 3]);
        note(&table, &[1, 1, 8, 3, 1]);
        table.take();
        assert_eq!(around(&table, [0, 1, 2, 3]), [1, 9, 9, 3]);
    }

    #[test]
    fn late_turns_share_a_place() {
        let table = table();
        table.note(TURNS + 7, 1 << 20, true);
        assert_eq!(table.take(), Some(1 << 20));
        assert_eq!(table.around(usize::MAX - 1, 1), Some((1 << 20) + (1 << 17)));
    }
}
