//! Division of a run's memory budget among its workers.

use std::sync::Arc;

use super::limits::{LeastMemory, Limits, RESIDENT};
use super::memory::{MemoryUsage, WorkerUsage};
use crate::engine::turns::{Control, Growth, Work, given_out};
use crate::error::{Error, ErrorKind, Result};
use crate::event::size;

/// Shares below this size, in bytes, are not halved further.
const LEAST: u64 = 4 << 20;

/// Room in bytes for which no second worker begins; 0 would mean no limit.
const LEAST_ROOM: u64 = 1 << 10;

/// Growth of a worker, as a multiple of the largest worker so far, that is assumed before growth has been measured.
const FACTOR: u64 = 3;

/// Fraction (1 / n) of the budget by which a run may exceed it without being ended, because the memory of the same run
/// differs from time to time.
const TOLERATED: u64 = 32;

/// Factor by which a run may exceed its plan without exceeding the budget.
const DOUBT: f64 = 1.5;

/// Measurements of a governor for one kind of work.
#[derive(Debug, Clone, Copy, Default)]
struct Knowledge {
    /// Memory of the largest worker before growth was measured, in bytes.
    worker: u64,
    /// Whether growth has been measured.
    measured: bool,
    /// Bytes of the budget that stay free, because the run took more than was expected; 0 if it never did.
    reserve: u64,
}

/// Divides a budget among workers.
///
/// A run's memory has three parts: the memory of all processes at rest, the values that waiting workers keep, and the
/// growth of the resident workers, which workers measure exactly. Waiting workers may keep what the other two parts
/// leave. A second worker is resident (a third in planned runs with many workers) if there is room for its growth.
///
/// In the first epoch, growth is not yet known. A planned run uses the plan's growth, and some runs have a bound. In
/// all other runs, one worker is resident, and waiting workers keep nothing.
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
    /// Maximum memory of all processes at rest since the budget was last divided, in bytes; `None` without a sample.
    /// Where workers compute batches at the same time and take no turns, it includes their batches.
    idle: Option<u64>,
    /// Whether the budget has been divided since the last sample.
    divided: bool,
    /// Number of turns that each rank had begun when shares were last lowered. A rank can only react in its next turn.
    turns: Vec<u32>,
}

impl Governor {
    /// The governor of a run that has not started.
    pub(crate) fn new(control: Arc<Control>, limits: Limits) -> Self {
        let work = control.work();
        let known = [Knowledge::default(); Work::ALL.len()];
        let (judged, idle, divided, turns) = (false, None, false, Vec::new());
        let governor = Governor { control, limits, work, known, judged, idle, divided, turns };
        if let Some(LeastMemory { all, another }) = limits.planned.filter(|_| limits.budget > 0) {
            let doubted = |bytes: u64| (bytes as f64 * DOUBT) as u64;
            let slots = governor.control.slots_of(work);
            let least = LeastMemory { all: doubted(all), another: doubted(another) };
            if all > 0 {
                // Until the memory at rest is known, no second worker begins.
                governor.control.set_room_of(work, LEAST_ROOM);
            }
            let (resident, share) = limits.room(governor.control.num_ranks(), slots, least);
            governor.grant(resident, share);
        }
        governor
    }

    /// Adapts the shares after an epoch.
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
        if self.work == Work::Training && self.control.rank(0).epoch() == 0 {
            // Ranks have loaded their data, which says nothing about epochs.
            self.control.forget_growth(self.work);
        } else {
            self.judge();
            self.judged |= self.work == Work::Training;
        }
        self.work = work;
        self.divided = true;
        // All ranks have already released what they may not keep during this work.
        self.turns.clear();
    }

    fn known(&mut self) -> &mut Knowledge {
        &mut self.known[self.work as usize]
    }

    /// Divides the budget, using the growth that was measured during the current work.
    fn judge(&mut self) {
        let Some(idle) = self.idle.filter(|_| self.limits.budget > 0) else { return };
        let Some(Growth { most, least }) = self.control.take_growth(self.work) else { return };
        self.divided = true;
        self.known().measured = true;
        let taken = idle + self.known().reserve;
        let (work, workers) = (self.work, self.control.num_ranks());
        let (resident, _) = self.limits.room_after(workers, taken, most);
        let room = self.limits.budget.saturating_sub(taken);
        self.control.set_room_of(work, room.max(LEAST_ROOM));
        let kept = given_out(room.saturating_sub(resident as u64 * least));
        self.grant(resident, kept / workers as u64);
    }

    /// Sets the number of resident ranks and each waiting rank's share, for the current work.
    fn grant(&self, resident: usize, share: u64) {
        let share = share >> 10 << 10;
        if resident != self.control.slots_of(self.work) {
            self.control.set_slots_of(self.work, resident);
        }
        if share != self.control.parked_share_of(self.work) {
            self.control.set_parked_share_of(self.work, share);
        }
    }

    /// Lends waiting workers half of what residents, if they grow, leave of the budget.
    fn lend(&self, idle: u64, worker: u64) {
        let Limits { budget, resident, .. } = self.limits;
        let workers = self.control.num_ranks();
        let free =
            |residents: usize| budget.saturating_sub(idle + FACTOR * residents as u64 * worker) / 2;
        let most = resident.unwrap_or(RESIDENT).min(workers);
        let least = resident.unwrap_or(1).min(workers);
        let residents = if free(most) > 0 { most } else { least };
        self.grant(residents, free(residents) / workers as u64);
    }

    /// Divides the budget before growth is known, while all processes take `idle` bytes at rest, and the largest
    /// worker so far has taken `worker`.
    fn divide_unmeasured(&self, idle: u64, worker: u64) {
        let Limits { budget, planned, lends, bounds, .. } = self.limits;
        self.control.set_room_of(self.work, budget.saturating_sub(idle).max(LEAST_ROOM));
        let noted = self.control.noted_growth(self.work);
        let room_after = |growth| self.limits.room_after(self.control.num_ranks(), idle, growth);
        if lends && self.work == Work::Training {
            self.lend(idle, worker);
        } else if let Some(bound) = bounds.during(self.work) {
            let (resident, share) = room_after(bound.max(noted));
            self.grant(resident, share);
        } else if planned.is_some() && noted > 0 {
            // What the plan has granted is lowered if turns have taken more than was planned.
            let (resident, share) = room_after(noted);
            let now = self.control.parked_share_of(self.work);
            self.grant(resident.min(self.control.slots_of(self.work)), share.min(now));
        }
    }

    /// Checks the current memory of all processes, and lowers shares if it exceeds the budget.
    ///
    /// # Errors
    /// If it exceeds the budget although waiting workers keep nothing and no more workers are resident than requested.
    pub(super) fn watch(&mut self, usage: MemoryUsage) -> Result<()> {
        let Limits { budget, resident, .. } = self.limits;
        self.follow();
        let before = self.idle.filter(|_| !std::mem::take(&mut self.divided));
        self.idle = before.max(Some(usage.idle));
        let known = self.known();
        known.worker = known.worker.max(usage.peak);
        let Knowledge { measured, worker, reserve } = *known;
        if !measured && reserve == 0 && budget > 0 {
            self.divide_unmeasured(usage.idle, worker);
        }
        let slots = self.control.slots_of(self.work);
        let peak = usage.sum + usage.passed;
        if budget == 0 || peak <= budget {
            return Ok(());
        }
        let turns: Vec<u32> =
            (0..self.control.num_ranks()).map(|rank| self.control.rank(rank).turns()).collect();
        if turns.iter().zip(&self.turns).any(|(now, then)| now == then) {
            return Ok(());
        }
        self.known().reserve = 2 * reserve.max(peak - budget);
        let share = self.control.parked_share_of(self.work);
        if share > 0 {
            self.turns = turns;
            let share = if share > LEAST { share / 2 } else { 0 };
            self.control.set_parked_share_of(self.work, share);
            return Ok(());
        }
        if slots > resident.unwrap_or(1) {
            self.turns = turns;
            self.control.set_slots_of(self.work, resident.unwrap_or(1));
            return Ok(());
        }
        // Several residents may have their peaks at different times.
        if usage.torn || peak <= budget + budget / TOLERATED || slots > 1 && usage.sum <= budget {
            return Ok(());
        }
        let WorkerUsage { slot, bytes } = usage.largest;
        // Each process counts its part of the memory that it shares with the others.
        let uncounted = self.limits.uncounted / (self.control.num_ranks() as u64 + 1);
        let status = self.control.rank(slot);
        let rank = status.number();
        let problem = format!(
            "this run needs at least {}, even if waiting workers keep nothing; the memory budget is {}; rank {rank} takes the most, \
             {}, in {}",
            size(peak.saturating_sub(self.limits.uncounted)),
            size(budget - self.limits.uncounted),
            size(bytes.saturating_sub(uncounted)),
            status.phase()
        );
        let hint = match self.work {
            Work::Training | Work::SampledEvaluation | Work::Propagation => {
                "raise ‹memory_budget›, lower ‹resident›, make hidden layers narrower or batches smaller, or cut the graph into more partitions"
            }
            Work::Evaluation => {
                "the evaluation is on the full graph: raise ‹memory_budget› (a run with ‹checkpoint_every› continues from its last checkpoint), lower ‹resident›, make hidden layers narrower, or cut the graph into more partitions"
            }
        };
        Err(Error::new(ErrorKind::OutOfMemory, problem).with_hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::launch::WorkerBounds;
    use crate::engine::launch::limits::tests::limits;

    const GIB: u64 = 1 << 30;

    /// A governor of four workers that has seen their memory at rest.
    fn governor(limits: Limits) -> (Governor, Arc<Control>) {
        let slots = limits.resident.unwrap_or(1);
        let control = Arc::new(Control::in_memory(4, slots).unwrap());
        let mut governor = Governor::new(control.clone(), limits);
        governor.watch(usage(2 * GIB)).unwrap();
        (governor, control)
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
        governor.control.rank(0).set_epoch(1);
        governor.control.note_growth(governor.work, 0, growth);
        governor.epoch();
    }

    fn grants(control: &Control) -> (usize, u64) {
        (control.slots(), control.parked_share())
    }

    /// A quarter of what `left` bytes grant; shares are whole kibibytes.
    fn share(left: u64) -> u64 {
        (given_out(left) / 4) >> 10 << 10
    }

    /// A quarter of what 8 GiB grant beside 1 GiB at rest and residents that have grown by this number of bytes.
    fn left(residents: u64, growth: u64) -> u64 {
        share(7 * GIB - residents * (growth + growth / 8))
    }

    /// Makes every rank begin another turn.
    fn turn(control: &Control) {
        (0..4).for_each(|rank| control.rank(rank).count_turn());
    }

    #[test]
    fn shares_are_what_growth_leaves_and_shrink_when_the_budget_is_exceeded() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        assert_eq!(grants(&control), (1, 0));
        governor.epoch();
        assert_eq!(grants(&control), (1, 0), "nothing has been measured");
        epoch(&mut governor, 2 * GIB);
        assert_eq!(grants(&control), (2, left(2, 2 * GIB)));
        // Kept values are not computed again; but earlier measurements lose weight only gradually.
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, left(2, 2 * GIB)));
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, left(2, GIB)));
        epoch(&mut governor, 4 * GIB);
        assert_eq!(grants(&control), (1, left(1, 4 * GIB)));

        let halved = (control.parked_share() / 2) >> 10 << 10;
        turn(&control);
        governor.watch(usage(9 * GIB)).unwrap();
        assert_eq!(control.parked_share(), halved);
        // No rank has had a turn since.
        governor.watch(usage(9 * GIB)).unwrap();
        assert_eq!(control.parked_share(), halved);
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (1, 0), "at rest, all took 8 GiB");
    }

    #[test]
    fn a_budget_that_was_exceeded_keeps_a_reserve() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        epoch(&mut governor, GIB);
        for reserve in [GIB / 4, GIB / 2] {
            let before = control.parked_share();
            turn(&control);
            let peak = MemoryUsage { passed: 6 * GIB + GIB / 8, ..usage(2 * GIB) };
            governor.watch(peak).unwrap();
            assert_eq!(control.parked_share(), (before / 2) >> 10 << 10);
            epoch(&mut governor, GIB);
            assert_eq!(grants(&control), (2, share(5 * GIB - GIB / 4 - reserve)));
        }
    }

    #[test]
    fn the_most_memory_at_rest_since_the_last_division_counts() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        governor.watch(usage(4 * GIB)).unwrap();
        governor.watch(usage(2 * GIB)).unwrap();
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, share(3 * GIB - GIB / 4)));
        governor.watch(usage(2 * GIB)).unwrap();
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, left(2, GIB)));
    }

    #[test]
    fn before_growth_is_measured_workers_borrow_what_leaves_room_for_larger_ones() {
        let (mut governor, control) = governor(Limits { lends: true, ..limits(8 * GIB, None) });
        assert_eq!(grants(&control), (2, GIB / 8));
        governor.watch(MemoryUsage { peak: 2 * GIB, ..usage(2 * GIB) }).unwrap();
        assert_eq!(grants(&control), (1, GIB / 8));
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (1, GIB / 8), "the largest so far counts");
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (2, left(2, GIB)));
    }

    #[test]
    fn what_loading_takes_says_nothing_about_epochs() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        control.note_growth(Work::Training, 0, 1 << 20);
        control.begin(Work::Propagation);
        governor.watch(usage(2 * GIB)).unwrap();
        control.begin(Work::Training);
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (1, 0));
        assert!(!control.admits(0, 1));
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
        assert_eq!((control.parked_share(), slots.last()), (0, Some(&1)));
    }

    #[test]
    fn a_planned_run_keeps_what_fits_from_the_start_and_min_keeps_nothing() {
        let planned = |budget, all, another| {
            let planned = Some(LeastMemory { all, another });
            let (_governor, control) = governor(Limits { planned, ..limits(budget, None) });
            grants(&control)
        };
        assert_eq!(planned(8 * GIB, 0, 0), (2, share(8 * GIB)));
        assert_eq!(planned(8 * GIB, 2 * GIB, GIB), (2, share(7 * GIB / 2)));
        assert_eq!(planned(4 * GIB, 2 * GIB, GIB), (1, share(GIB)));
        assert_eq!(planned(2 * GIB, 2 * GIB, GIB), (1, 0));
        assert_eq!(planned(0, 2 * GIB, GIB), (1, 0));
        let (mut governor, control) = self::governor(limits(0, None));
        epoch(&mut governor, GIB);
        assert_eq!(grants(&control), (1, 0));
    }

    #[test]
    fn a_first_epoch_that_takes_more_than_planned_keeps_less() {
        let planned = Some(LeastMemory { all: 2 * GIB, another: GIB / 2 });
        let control = Arc::new(Control::in_memory(4, 1).unwrap());
        let mut governor =
            Governor::new(control.clone(), Limits { planned, ..limits(8 * GIB, None) });
        assert!(!control.admits(1, 1), "memory at rest is not known");
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (2, share(8 * GIB - 15 * GIB / 4)));
        control.note_growth(Work::Training, 1, GIB);
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (2, share(8 * GIB - 15 * GIB / 4)), "as planned");
        control.note_growth(Work::Training, 2, 5 * GIB / 2);
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (2, share(2 * GIB)));
        control.note_growth(Work::Training, 3, 4 * GIB);
        governor.watch(usage(2 * GIB)).unwrap();
        assert_eq!(grants(&control), (1, share(2 * GIB)));
        assert!(control.admits(1, 1) && !control.admits(3, 1) && !control.admits(4, 1));
    }

    #[test]
    fn an_evaluation_begins_with_what_is_known_of_evaluations() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        epoch(&mut governor, GIB);
        let trained = grants(&control);
        assert_eq!(trained, (2, left(2, GIB)));
        control.begin(Work::Evaluation);
        assert_eq!(grants(&control), (1, 0));
        governor.watch(usage(7 * GIB)).unwrap();
        control.note_growth(Work::Evaluation, 0, 3 * GIB);
        // The launcher may notice the change of work late.
        control.begin(Work::Training);
        assert_eq!(grants(&control), trained);
        governor.watch(usage(2 * GIB)).unwrap();
        governor.epoch();
        assert_eq!(grants(&control), trained);
        control.begin(Work::Evaluation);
        assert_eq!(grants(&control), (1, 0), "at rest, all took 6 GiB");
    }

    #[test]
    fn workers_get_what_a_bound_leaves_until_they_are_measured() {
        let bounds = WorkerBounds { training: None, evaluation: Some(2 * GIB) };
        let control = Arc::new(Control::in_memory(4, 1).unwrap());
        let mut governor =
            Governor::new(control.clone(), Limits { bounds, ..limits(8 * GIB, None) });
        control.begin(Work::Evaluation);
        let mut look = |sum| {
            governor.watch(usage(sum)).unwrap();
            grants(&control)
        };
        // Ranks may still be releasing what the training's share let them keep.
        assert_eq!(look(6 * GIB), (1, share(GIB)));
        assert_eq!(look(2 * GIB), (2, share(3 * GIB)));
        control.note_growth(Work::Evaluation, 0, 3 * GIB);
        assert_eq!(look(2 * GIB), (2, share(GIB)), "the bound was too low");
        control.forget_growth(Work::Evaluation);
        assert_eq!(look(2 * GIB), (2, share(3 * GIB)));
        control.note_growth(Work::Evaluation, 0, GIB);
        governor.epoch();
        assert_eq!(grants(&control), (2, share(3 * GIB)), "the evaluation has not ended");
        control.begin(Work::Training);
        governor.watch(usage(2 * GIB)).unwrap();
        control.begin(Work::Evaluation);
        assert_eq!(grants(&control), (2, left(2, GIB)));
        control.begin(Work::Training);
        assert_eq!(grants(&control), (1, 0));
    }
}
