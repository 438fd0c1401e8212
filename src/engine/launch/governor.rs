//! Division of a run's memory budget among its workers.

use std::sync::Arc;

use super::limits::{LeastMemory, Limits, RESIDENT};
use super::memory::MemoryUsage;
use super::over_budget::{exceeds, over_budget};
use super::reactions::Reactions;
use crate::engine::turns::{Control, Work};
use crate::words::error::Result;

/// Room in bytes that admits no second worker; 0 would mean no limit.
const LEAST_ROOM: u64 = 1 << 10;

/// Fraction (1 / n) of the budget by which a first epoch's room may shrink before waiting workers are asked for memory.
const NOTABLE: u64 = 64;

/// Measurements of a governor for one kind of work.
#[derive(Debug, Clone, Copy, Default)]
struct Knowledge {
    /// Memory of the largest worker before growth was measured, in bytes.
    worker: u64,
    /// Whether growth has been measured.
    measured: bool,
    /// Bytes of the budget that stay free, because the run took more than was expected; 0 if it never did.
    reserve: u64,
    /// The reserve before all ranks began their last turns.
    settled: u64,
    /// Largest part of the room, in bytes, that growth has left since waiting workers were last asked for memory.
    left: u64,
}

/// Divides a budget among workers.
///
/// A run's memory has three parts: the memory of all processes at rest, the values that waiting workers keep, and the
/// growth of the resident workers, which workers measure exactly. The governor publishes the *room*: the budget without the first
/// part. Workers keep what their growth leaves of the room (`Control::pool_after`), and a turn begins beside
/// others only if its growth is known and fits (`Control::admits`). So a turn of which nothing is known is alone.
///
/// In the first epoch, the room is published with each sample, and turns without a record grow as is assumed
/// ([`AssumedGrowth`](super::AssumedGrowth)). After it, the governor decides how many workers are resident: a second one (a
/// third in planned runs with many workers) if there is room for its growth.
///
/// Each kind of [`Work`] is measured separately, because the memory of a batch does not predict that of an evaluation
/// on the full graph.
pub(crate) struct Governor {
    control: Arc<Control>,
    limits: Limits,
    /// Kind of work at the last sample.
    work: Work,
    /// Knowledge about each kind of work.
    known: [Knowledge; Work::ALL.len()],
    /// Whether the current epoch's training was judged already, when an evaluation began.
    judged: bool,
    /// Maximum memory of all processes at rest since the room was last divided, in bytes; `None` without a sample.
    /// Where workers compute batches at the same time and take no turns, it includes their batches.
    idle: Option<u64>,
    /// Whether the room has been divided since the last sample.
    divided: bool,
    reactions: Reactions,
}

impl Governor {
    /// The governor of a run that has not started.
    pub(crate) fn new(control: Arc<Control>, limits: Limits) -> Self {
        for work in Work::ALL.into_iter().filter(|_| limits.budget > 0) {
            let growth = limits.assumed.during(work).bytes(u64::MAX);
            control.assume_growth(work, growth);
            // Until the memory at rest is known, workers keep nothing, unless everything fits.
            let room = if growth == Some(0) { limits.budget } else { LEAST_ROOM };
            control.set_room_of(work, room);
            control.set_slots_of(work, limits.resident.unwrap_or(RESIDENT));
        }
        let work = control.work();
        let known = [Knowledge::default(); Work::ALL.len()];
        let (judged, idle, divided, reactions) = (false, None, false, Reactions::default());
        Governor { control, limits, work, known, judged, idle, divided, reactions }
    }

    /// Divides the room after an epoch.
    pub(crate) fn epoch(&mut self) {
        // Measurements after an evaluation belong to the next epoch.
        if self.work == Work::Training && !std::mem::take(&mut self.judged) {
            self.judge();
        }
    }

    /// Adapts to the current work of the ranks.
    fn follow(&mut self) {
        let work = self.control.work();
        if work == self.work {
            return;
        }
        if self.work == Work::Training && self.control.rank(0).epoch.get() == 0 {
            // Ranks have loaded their data, which says nothing about epochs.
            self.control.growth(self.work).forget();
        } else {
            self.judge();
            self.judged |= self.work == Work::Training;
        }
        self.work = work;
        self.divided = true;
        // All ranks have already released what they may not keep during this work.
        self.reactions.clear();
    }

    fn known(&mut self) -> &mut Knowledge {
        &mut self.known[self.work as usize]
    }

    /// Publishes the room, and decides how many workers are resident, by the growth that was measured during the current
    /// work.
    fn judge(&mut self) {
        let Some(idle) = self.idle.filter(|_| self.limits.budget > 0) else { return };
        let Some(growth) = self.control.growth(self.work).take() else { return };
        self.divided = true;
        self.known().measured = true;
        let taken = idle + self.known().reserve;
        let requested = self.limits.resident.unwrap_or(1) as u64;
        let least = LeastMemory { all: taken + requested * growth, another: growth };
        let (resident, _) = self.limits.residents(self.control.num_ranks(), least);
        // A rank that a larger number wakes must see this room.
        self.set_room(self.limits.budget.saturating_sub(taken));
        if resident != self.control.slots_of(self.work) {
            self.control.set_slots_of(self.work, resident);
        }
        self.control.ask_for_memory();
    }

    fn set_room(&self, bytes: u64) {
        self.control.set_room_of(self.work, bytes.max(LEAST_ROOM));
    }

    /// Publishes the room before growth has been measured, while all processes take `idle` bytes at rest. Waiting workers
    /// give up memory if there is notably less than before.
    fn follow_first_epoch(&mut self, idle: u64) {
        let Knowledge { worker, reserve, left, .. } = *self.known();
        let growth = self.limits.assumed.during(self.work).bytes(worker);
        self.control.assume_growth(self.work, growth);
        let room = self.limits.budget.saturating_sub(idle + reserve);
        self.set_room(room);
        let residents = self.control.slots_of(self.work) as u64;
        let most = growth.unwrap_or(0).max(residents * self.control.growth(self.work).noted());
        let now = room.saturating_sub(most);
        let less = now + self.limits.budget / NOTABLE < left;
        self.known().left = if less { now } else { left.max(now) };
        if less {
            self.control.ask_for_memory();
        }
    }

    /// Checks the current memory of all processes, and lowers the room if it exceeds the budget.
    pub(super) fn watch(&mut self, usage: MemoryUsage) -> Result<()> {
        let Limits { budget, resident, .. } = self.limits;
        self.follow();
        let before = self.idle.filter(|_| !std::mem::take(&mut self.divided));
        self.idle = before.max(Some(usage.idle));
        let known = self.known();
        known.worker = known.worker.max(usage.peak);
        let Knowledge { measured, reserve, .. } = *known;
        if !measured && budget > 0 {
            self.follow_first_epoch(usage.idle);
        }
        let may_keep = self.control.largest_pool(self.work) > 0;
        self.reactions.look(&self.control, may_keep);
        let slots = self.control.slots_of(self.work);
        let peak = usage.sum + usage.passed;
        if budget == 0 || peak <= budget {
            return Ok(());
        }
        if may_keep {
            // Waiting ranks give up memory at once; those that compute can only react in their next turns.
            if self.reactions.settle() {
                self.known().settled = reserve;
            }
            let more = self.known().settled + 2 * (peak - budget);
            if more > reserve {
                self.known().reserve = more;
                let room = self.control.room_of(self.work);
                self.set_room(room.saturating_sub(more - reserve));
                self.control.ask_for_memory();
            }
            return Ok(());
        }
        if !self.reactions.are_complete() {
            return Ok(());
        }
        if slots > resident.unwrap_or(1) {
            self.reactions.begin();
            self.control.set_slots_of(self.work, resident.unwrap_or(1));
            return Ok(());
        }
        // Several residents may have their peaks at different times.
        if usage.torn || !exceeds(budget, peak) || slots > 1 && usage.sum <= budget {
            return Ok(());
        }
        Err(over_budget(&self.limits, usage, &self.control))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::engine::launch::limits::tests::limits;
    use crate::engine::launch::memory::WorkerUsage;
    use crate::engine::launch::{AssumedGrowth, TurnGrowth};
    use crate::engine::turns::{Activity, given_out};
    use crate::words::error::ErrorKind;

    const GIB: u64 = 1 << 30;

    /// A governor of four workers that has seen their memory at rest.
    fn governor(limits: Limits) -> (Governor, Arc<Control>) {
        let control = Arc::new(Control::in_memory(4, limits.resident.unwrap_or(1)).unwrap());
        let mut governor = Governor::new(control.clone(), limits);
        governor.watch(usage(2 * GIB)).unwrap();
        (governor, control)
    }

    /// Limits of a run whose epochs are assumed to grow by this.
    fn assuming(training: TurnGrowth, budget: u64) -> Limits {
        let assumed = AssumedGrowth { training, ..AssumedGrowth::default() };
        Limits { assumed, ..limits(budget, None) }
    }

    /// A sample in which all processes take a gibibyte more than at rest.
    fn usage(sum: u64) -> MemoryUsage {
        MemoryUsage {
            sum,
            passed: 0,
            torn: false,
            largest: WorkerUsage { slot: 2, bytes: GIB },
            peak: GIB,
            idle: sum - GIB,
        }
    }

    /// An epoch in which a worker has grown by at most this number of bytes.
    fn epoch(governor: &mut Governor, growth: u64) {
        governor.control.rank(0).epoch.set(1);
        governor.control.note_growth(governor.work, 0, growth, true);
        governor.epoch();
    }

    /// Number of residents, and what all keep after the first turn.
    fn grants(control: &Control) -> (usize, u64) {
        (control.slots(), control.pool_after(control.work(), 0))
    }

    /// Bytes that all keep in 8 GiB, with 1 GiB at rest and residents that have grown by this number of bytes.
    fn left(residents: u64, growth: u64) -> u64 {
        given_out(7 * GIB - residents * (growth + growth / 8))
    }

    /// Makes every rank begin another turn.
    fn turn(control: &Control) {
        (0..4).for_each(|rank| control.rank(rank).turns.count());
    }

    #[test]
    fn workers_keep_what_growth_leaves_and_less_when_the_budget_is_exceeded() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        assert_eq!(grants(&control), (2, 0));
        governor.epoch();
        assert_eq!(grants(&control), (2, 0), "nothing has been measured");
        epoch(&mut governor, 2 * GIB);
        assert_eq!(grants(&control), (2, left(2, 2 * GIB)));
        // Kept values are not computed again; but earlier measurements lose weight only gradually.
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, left(2, 2 * GIB)));
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, left(2, GIB)));
        epoch(&mut governor, 4 * GIB);
        assert_eq!(grants(&control), (1, left(1, 4 * GIB)));

        let lowered = given_out(7 * GIB - 9 * GIB / 2 - GIB);
        turn(&control);
        governor.watch(usage(17 * GIB / 2)).unwrap();
        assert_eq!(grants(&control), (1, lowered));
        // No rank has had a turn since.
        governor.watch(usage(17 * GIB / 2)).unwrap();
        assert_eq!(grants(&control), (1, lowered));
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (1, 0), "at rest, all took 7.5 GiB");
    }

    #[test]
    fn a_budget_that_was_exceeded_keeps_a_reserve() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        epoch(&mut governor, GIB);
        for reserve in [GIB / 4, GIB / 2] {
            turn(&control);
            let peak = MemoryUsage { passed: 6 * GIB + GIB / 8, ..usage(2 * GIB) };
            governor.watch(peak).unwrap();
            let expected = (2, given_out(19 * GIB / 4 - reserve));
            assert_eq!(grants(&control), expected, "at once");
            epoch(&mut governor, GIB);
            assert_eq!(grants(&control), expected, "and after the epoch");
        }
    }

    #[test]
    fn a_reserve_follows_what_is_exceeded_within_a_turn() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        epoch(&mut governor, GIB);
        turn(&control);
        for (excess, reserve) in [(1, 2), (4, 8), (3, 8)] {
            let peak = MemoryUsage { passed: 6 * GIB + excess * GIB / 8, ..usage(2 * GIB) };
            governor.watch(peak).unwrap();
            assert_eq!(grants(&control), (2, given_out(19 * GIB / 4 - reserve * GIB / 8)));
        }
    }

    #[test]
    fn a_run_ends_only_after_all_ranks_could_react_to_the_last_lowering() {
        let (mut governor, control) = governor(limits(8 * GIB, Some(1)));
        epoch(&mut governor, GIB);
        turn(&control);
        governor.watch(usage(65 * GIB / 8)).unwrap();
        (0..3).for_each(|rank| control.rank(rank).turns.count());
        governor.watch(usage(12 * GIB)).unwrap();
        assert_eq!(grants(&control), (1, 0));
        control.rank(3).turns.count();
        control.rank(3).set_activity(Activity::Resident);
        governor.watch(usage(9 * GIB)).unwrap();
        turn(&control);
        assert!(governor.watch(usage(9 * GIB)).is_err());

        let (mut governor, control) = self::governor(limits(8 * GIB, Some(1)));
        epoch(&mut governor, GIB);
        governor.watch(usage(2 * GIB)).unwrap();
        // Turns take more than all ranks kept room for.
        epoch(&mut governor, 8 * GIB);
        governor.watch(usage(9 * GIB)).unwrap();
        turn(&control);
        assert!(governor.watch(usage(9 * GIB)).is_err());
    }

    #[test]
    fn ranks_that_work_side_by_side_need_no_turns_to_react() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        epoch(&mut governor, GIB);
        turn(&control);
        let mut end = |activity, mut collectives: Range<u64>| {
            (0..4).for_each(|rank| control.rank(rank).set_activity(activity));
            collectives.find(|collective| {
                (0..4).for_each(|rank| control.rank(rank).posted.set(*collective));
                governor.watch(usage(9 * GIB)).is_err()
            })
        };
        assert_eq!(end(Activity::Resident, 1..20), None, "several collectives of one pause");
        let collective = end(Activity::Parked, 20..40);
        assert!(collective.is_some_and(|collective| collective > 24), "{collective:?}");
    }

    #[test]
    fn the_most_memory_at_rest_since_the_last_division_counts() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        governor.watch(usage(4 * GIB)).unwrap();
        governor.watch(usage(2 * GIB)).unwrap();
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, given_out(3 * GIB - GIB / 4)));
        governor.watch(usage(2 * GIB)).unwrap();
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, left(2, GIB)));
    }

    #[test]
    fn programs_keep_what_a_worker_leaves_that_is_three_times_as_large() {
        let (mut governor, control) = governor(assuming(TurnGrowth::OfLargestWorker, 8 * GIB));
        assert_eq!(grants(&control), (2, given_out(4 * GIB)));
        governor.watch(MemoryUsage { peak: 2 * GIB, ..usage(2 * GIB) }).unwrap();
        assert_eq!(grants(&control), (2, given_out(GIB)));
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (2, given_out(GIB)), "the largest so far counts");
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, left(2, GIB)));
    }

    #[test]
    fn what_loading_takes_says_nothing_about_epochs() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        control.note_growth(Work::Training, 0, 1 << 20, true);
        control.begin(Work::Propagation);
        governor.watch(usage(2 * GIB)).unwrap();
        control.begin(Work::Training);
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (2, 0));
        assert!(!control.admits(Work::Training, 0, 1));
        epoch(&mut governor, 2 * GIB);
        assert_eq!(grants(&control), (2, left(2, 2 * GIB)));
    }

    #[test]
    fn the_run_ends_when_nothing_is_left_to_give_up() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        epoch(&mut governor, GIB);
        let mut slots = Vec::new();
        let error = loop {
            turn(&control);
            match governor.watch(usage(9 * GIB)) {
                Ok(()) => slots.push(control.slots()),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.to_string().contains("rank 2 takes the most"), "{error}");
        assert_eq!((control.largest_pool(Work::Training), slots.last()), (0, Some(&1)));
    }

    #[test]
    fn a_planned_run_keeps_what_fits_from_the_start_and_min_keeps_nothing() {
        let first = |bytes, budget| {
            let limits = assuming(TurnGrowth::Bytes(bytes), budget);
            let control = Arc::new(Control::in_memory(4, 1).unwrap());
            let mut governor = Governor::new(control.clone(), limits);
            let before = grants(&control);
            governor.watch(usage(2 * GIB)).unwrap();
            [before, grants(&control)]
        };
        assert_eq!(first(0, 8 * GIB), [(2, given_out(8 * GIB)), (2, given_out(7 * GIB))]);
        assert_eq!(first(GIB, 8 * GIB), [(2, 0), (2, given_out(6 * GIB))]);
        assert_eq!(first(GIB, 2 * GIB), [(2, 0); 2]);
        assert_eq!(first(GIB, 0), [(1, 0); 2]);
        let (mut governor, control) = self::governor(limits(0, None));
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (1, 0));
    }

    #[test]
    fn a_first_epoch_that_takes_more_than_planned_keeps_less() {
        let (mut governor, control) = governor(assuming(TurnGrowth::Bytes(GIB), 8 * GIB));
        let mut look = |turn: usize, growth: u64| {
            control.note_growth(Work::Training, turn, growth, true);
            let asked = control.asks();
            governor.watch(usage(2 * GIB)).unwrap();
            let kept = control.pool_after(Work::Training, turn);
            (given_out(7 * GIB) - kept, control.asks() > asked)
        };
        let less = |bytes: u64| given_out(7 * GIB) - given_out(7 * GIB - bytes);
        assert_eq!(look(1, GIB / 4), (less(GIB), false), "as planned");
        assert_eq!(look(2, 2 * GIB), (less(5 * GIB), true), "two are resident");
        assert_eq!(look(3, GIB), (less(5 * GIB / 2), false), "turn 4 may be as large as turn 2");
        assert!(
            control.admits(Work::Training, 1, 1)
                && control.admits(Work::Training, 2, 1)
                && !control.admits(Work::Training, 4, 1)
        );
        assert_eq!(look(3, 4 * GIB), (less(7 * GIB), true));
        assert!(!control.admits(Work::Training, 3, 1));
    }

    #[test]
    fn an_evaluation_begins_with_what_is_known_of_evaluations() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        epoch(&mut governor, GIB);
        let trained = grants(&control);
        assert_eq!(trained, (2, left(2, GIB)));
        control.begin(Work::Evaluation);
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (2, 0));
        control.note_growth(Work::Evaluation, 0, 2 * GIB, true);
        control.begin(Work::Training);
        assert_eq!(grants(&control), trained);
        governor.watch(usage(2 * GIB)).unwrap();
        control.begin(Work::Evaluation);
        assert_eq!(grants(&control), (2, left(2, 2 * GIB)));
    }

    #[test]
    fn an_evaluation_keeps_what_a_bound_leaves_until_it_is_measured() {
        let assumed =
            AssumedGrowth { pass: TurnGrowth::Bytes(2 * GIB), ..AssumedGrowth::default() };
        let (mut governor, control) = governor(Limits { assumed, ..limits(8 * GIB, None) });
        control.begin(Work::Evaluation);
        let mut look = |sum| {
            governor.watch(usage(sum)).unwrap();
            grants(&control)
        };
        // Ranks may still be releasing what the training's room let them keep.
        assert_eq!(look(6 * GIB), (2, given_out(GIB)));
        assert_eq!(look(2 * GIB), (2, given_out(5 * GIB)));
        control.note_growth(Work::Evaluation, 0, GIB, true);
        governor.epoch();
        assert_eq!(grants(&control), (2, given_out(9 * GIB / 2)), "the evaluation has not ended");
        control.begin(Work::Training);
        governor.watch(usage(2 * GIB)).unwrap();
        control.begin(Work::Evaluation);
        assert_eq!(grants(&control), (2, given_out(3 * GIB / 4)), "at rest, all took 5 GiB");
    }
}
