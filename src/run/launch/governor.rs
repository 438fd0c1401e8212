//! The memory budget of a run, divided among its workers.

use std::sync::Arc;

use super::memory::{MemoryUsage, WorkerUsage};
use super::worker_bounds::WorkerBounds;
use crate::engine::turns::{Control, Work};
use crate::error::{Error, ErrorKind, Result};
use crate::event::size;

/// Fraction of the rest of the budget that is given out; the remainder covers changes between two samples.
const SAFETY: f64 = 0.85;

/// Fraction of the budget that leaves room for changes from epoch to epoch. Below it, waiting workers get half of the rest after an epoch,
/// and there may be one more resident worker.
const FULL: f64 = 0.9;

/// Size in bytes below which shares are not halved any more.
const LEAST: u64 = 4 << 20;

/// Number of workers that are resident at a time where the budget allows it: one computes while the other waits for the disk,
/// or does single-threaded work.
const RESIDENT: usize = 2;

/// Number of workers from which a planned run may have a third resident worker: while two wait for the disk, it computes.
const MANY: usize = 8;

/// Multiple of a third resident worker's memory that has to be left for waiting workers, which read again all values that they cannot keep.
const WORTH: u64 = 3;

/// Factor by which a worker may grow in its first epoch beyond the largest so far, without exceeding the budget.
const GROWTH: u64 = 3;

/// Factor by which a run may take more than was planned, without the budget being exceeded.
const DOUBT: f64 = 1.5;

/// Memory that a run takes if waiting workers keep nothing, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeastMemory {
    /// Memory of all processes together.
    pub all: u64,
    /// Memory that one more resident worker adds.
    pub another: u64,
}

/// Limits of a run's memory that are known before it starts.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes that all processes may take together; 0 means as little as possible.
    pub budget: u64,
    /// Bytes of the budget that the launcher had taken before it forked workers, where the user's budget does not count them.
    pub uncounted: u64,
    /// Number of workers that may be resident at a time; `None` means as many as fit.
    pub resident: Option<usize>,
    /// Planned memory of the run, 0 bytes if it certainly fits into the budget; `None` without a plan.
    pub planned: Option<LeastMemory>,
    /// Whether waiting workers may keep memory in the first epoch while all of them are small compared with the budget.
    pub lends: bool,
    /// Upper bounds on the memory of a worker.
    pub bounds: WorkerBounds,
}

/// Knowledge of a governor about a kind of work.
#[derive(Debug, Clone, Copy, Default)]
struct Knowledge {
    /// Whether shares were given out after the last measurement.
    shared_out: bool,
    /// Whether shares have ever been too large.
    exceeded: bool,
    /// Memory of the largest worker before any share was given out, in bytes.
    worker: u64,
    /// The most that all processes took since it was last judged, in bytes; `None` without a sample.
    recent: Option<u64>,
    /// The least that all processes took, in bytes; `None` without a sample.
    least: Option<u64>,
}

/// A governor that divides a budget.
///
/// What a planned run leaves of the budget is divided among the waiting workers from the start; in a run without a plan, they keep
/// nothing in the first epoch, and only one worker is resident. That shows the minimum that the run needs. Then there may be a
/// second resident worker (and a third in planned runs with many workers), and the waiting ones get the rest of the budget: more of
/// it after each epoch that has not used it up, less if the sum exceeds the budget.
///
/// Each kind of [`Work`] is measured for itself: the memory of a batch does not predict that of an evaluation on the full graph.
pub(in crate::run) struct Governor {
    control: Arc<Control>,
    limits: Limits,
    /// The work that the last sample was taken in.
    work: Work,
    /// Knowledge about each kind of work.
    known: [Knowledge; Work::ALL.len()],
    /// Whether the training of the present epoch was judged when an evaluation began.
    judged: bool,
    /// Memory of all processes when they were first looked at, in bytes.
    start: Option<u64>,
    /// Number of turns that each rank had begun when shares were last lowered: before its next turn, a rank cannot have
    /// reacted.
    turns: Vec<u32>,
}

impl Limits {
    /// Number of workers that may be resident, and the share of each of `workers` that waits, if the run takes as little as
    /// this with `resident` of them.
    pub(in crate::run) fn room(
        &self,
        workers: usize,
        resident: usize,
        least: LeastMemory,
    ) -> (usize, u64) {
        let (mut resident, mut peak) = (resident, least.all);
        let left = |peak| (self.budget.saturating_sub(peak) as f64 * SAFETY) as u64;
        let most = self.resident.unwrap_or(RESIDENT).min(workers);
        while resident < most && ((peak + least.another) as f64) < FULL * self.budget as f64 {
            peak += least.another;
            resident += 1;
        }
        let many = self.resident.is_none() && self.planned.is_some() && workers >= MANY;
        if many && resident == RESIDENT && left(peak) > WORTH * least.another {
            peak += least.another;
            resident += 1;
        }
        (resident, left(peak) / workers as u64)
    }
}

impl Governor {
    /// The governor of a run that has not started yet.
    pub(in crate::run) fn new(control: Arc<Control>, limits: Limits) -> Self {
        let work = control.work();
        let known = [Knowledge::default(); Work::ALL.len()];
        let (judged, start, turns) = (false, None, Vec::new());
        let mut governor = Governor { control, limits, work, known, judged, start, turns };
        if let Some(LeastMemory { all, another }) = limits.planned.filter(|_| limits.budget > 0) {
            let doubted = |bytes: u64| (bytes as f64 * DOUBT) as u64;
            governor.share_out(LeastMemory { all: doubted(all), another: doubted(another) });
        }
        governor
    }

    /// Adapts the shares after an epoch.
    pub(in crate::run) fn epoch(&mut self) {
        // After an evaluation, what has been measured since may belong to the next epoch.
        if !std::mem::take(&mut self.judged) {
            self.judge();
        }
    }

    /// Notes the present work of all ranks.
    fn follow(&mut self) {
        let work = self.control.work();
        if work == self.work {
            return;
        }
        self.judge();
        self.judged |= self.work == Work::Training;
        self.work = work;
        // All ranks have given back what they may not keep during this work.
        self.turns.clear();
    }

    /// Gives out the rest of the budget after a bound on the workers, until they have been measured.
    fn foresee(&self, Knowledge { least, exceeded, .. }: Knowledge) {
        let bound = self.limits.bounds.during(self.work);
        let (Some(worker), Some(least), false) = (bound, least, exceeded) else {
            return;
        };
        let Limits { resident, .. } = self.limits;
        let (workers, slots) = (self.control.num_ranks(), resident.unwrap_or(1));
        let (resident, share) = self.limits.room(
            workers,
            slots,
            LeastMemory { all: least + slots as u64 * worker, another: worker },
        );
        let share = share >> 10 << 10;
        if (resident, share) != (self.control.slots(), self.control.parked_share()) {
            self.grant(resident, share);
        }
    }

    fn known(&mut self) -> &mut Knowledge {
        &mut self.known[self.work as usize]
    }

    /// Sets how many ranks may be resident, and how much each may keep while it waits, during the present work.
    fn grant(&self, resident: usize, share: u64) {
        self.control.set_slots_of(self.work, resident);
        self.control.set_parked_share_of(self.work, share);
    }

    /// Adapts the shares to the memory of the present work since the last change.
    fn judge(&mut self) {
        let Some(peak) = self.known().recent.take().filter(|_| self.limits.budget > 0) else {
            return;
        };
        if self.known().shared_out {
            self.raise(peak);
        } else {
            let another = self.known().worker;
            self.share_out(LeastMemory { all: peak, another });
        }
    }

    fn raise(&mut self, peak: u64) {
        let left = (self.limits.budget as f64 * FULL) as u64;
        let workers = self.control.num_ranks() as u64;
        let share =
            self.control.parked_share_of(self.work) + left.saturating_sub(peak) / 2 / workers;
        if !self.known().exceeded {
            // No more than an equal part of the budget is ever used.
            let share = share.min(self.limits.budget / workers);
            self.control.set_parked_share_of(self.work, share);
        }
    }

    fn share_out(&mut self, least: LeastMemory) {
        self.known().shared_out = true;
        let (workers, slots) = (self.control.num_ranks(), self.control.slots_of(self.work));
        let (resident, share) = self.limits.room(workers, slots, least);
        // What has been lent was part of the peak.
        self.grant(resident, share.max(self.control.parked_share_of(self.work)));
    }

    /// Lends half of the budget's rest beyond growing residents.
    fn lend(&mut self, sum: u64) {
        let start = *self.start.get_or_insert(sum);
        let Limits { budget, resident, .. } = self.limits;
        let workers = self.control.num_ranks();
        let worker = self.known().worker;
        let free = |residents: usize| {
            budget.saturating_sub(start + GROWTH * residents as u64 * worker) / 2
        };
        let most = resident.unwrap_or(RESIDENT).min(workers);
        let least = resident.unwrap_or(1).min(workers);
        let residents = if free(most) > 0 { most } else { least };
        if residents != self.control.slots_of(self.work) {
            self.control.set_slots_of(self.work, residents);
        }
        self.control.set_parked_share_of(self.work, free(residents) / workers as u64);
    }

    /// Checks the present memory of all processes, and lowers shares if it exceeds the budget.
    ///
    /// # Errors
    /// If it exceeds the budget although waiting workers keep nothing, and no more are resident than requested.
    pub(super) fn watch(&mut self, usage: MemoryUsage) -> Result<()> {
        let Limits { budget, resident, .. } = self.limits;
        self.follow();
        let known = self.known();
        known.recent = known.recent.max(Some(usage.sum));
        known.least = Some(known.least.map_or(usage.sum, |least| least.min(usage.sum)));
        if !known.shared_out && budget > 0 {
            known.worker = known.worker.max(usage.peak);
            let known = *known;
            if self.limits.lends && self.work == Work::Training && !known.exceeded {
                self.lend(usage.sum);
            } else {
                self.foresee(known);
            }
        }
        if budget == 0 || usage.sum <= budget {
            return Ok(());
        }
        let turns: Vec<u32> =
            (0..self.control.num_ranks()).map(|rank| self.control.rank(rank).turns()).collect();
        if turns.iter().zip(&self.turns).any(|(now, then)| now == then) {
            return Ok(());
        }
        self.known().exceeded = true;
        let share = self.control.parked_share_of(self.work);
        if share > 0 {
            self.turns = turns;
            let share = if share > LEAST { share / 2 } else { 0 };
            self.control.set_parked_share_of(self.work, share);
            return Ok(());
        }
        if self.control.slots_of(self.work) > resident.unwrap_or(1) {
            self.turns = turns;
            self.control.set_slots_of(self.work, resident.unwrap_or(1));
            return Ok(());
        }
        let WorkerUsage { slot, bytes } = usage.largest;
        // A process counts its part of the memory that it shares with the others.
        let uncounted = self.limits.uncounted / (self.control.num_ranks() as u64 + 1);
        let status = self.control.rank(slot);
        let rank = status.number();
        let problem = format!(
            "this run needs at least {}, even if waiting workers keep nothing; the memory budget is {}; rank {rank} takes the most, \
             {}, in {}",
            size(usage.sum.saturating_sub(self.limits.uncounted)),
            size(budget - self.limits.uncounted),
            size(bytes.saturating_sub(uncounted)),
            status.phase()
        );
        let hint = match self.work {
            Work::Training | Work::SampledEvaluation => {
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

    const GIB: u64 = 1 << 30;

    fn limits(budget: u64, resident: Option<usize>) -> Limits {
        let bounds = WorkerBounds::default();
        Limits { budget, uncounted: 0, resident, planned: None, lends: false, bounds }
    }

    /// A governor of four workers that has seen the largest of them take a gibibyte.
    fn governor(limits: Limits) -> (Governor, Arc<Control>) {
        let slots = limits.resident.unwrap_or(1);
        let control = Arc::new(Control::in_memory(4, slots).unwrap());
        let mut governor = Governor::new(control.clone(), limits);
        governor.watch(usage(2 * GIB)).unwrap();
        (governor, control)
    }

    fn usage(sum: u64) -> MemoryUsage {
        MemoryUsage { sum, largest: WorkerUsage { slot: 2, bytes: GIB }, peak: GIB }
    }

    /// An epoch in which all processes together took at most this number of bytes.
    fn epoch(governor: &mut Governor, sum: u64) {
        governor.watch(usage(sum)).unwrap();
        governor.epoch();
    }

    /// Makes every rank begin another turn.
    fn turn(control: &Control) {
        (0..4).for_each(|rank| control.rank(rank).count_turn());
    }

    #[test]
    fn a_second_worker_is_resident_where_there_is_room_for_it() {
        let share = |left: u64| (left as f64 * SAFETY) as u64 / 4;
        let least = LeastMemory { all: 2 * GIB, another: GIB };
        let room = |resident, budget| limits(budget, resident).room(4, 1, least);
        assert_eq!(room(None, 8 * GIB), (2, share(5 * GIB)));
        assert_eq!(room(None, 3 * GIB), (1, share(GIB)));
        assert_eq!(room(None, GIB), (1, 0));
        assert_eq!(room(Some(1), 8 * GIB), (1, share(6 * GIB)));
        assert_eq!(room(Some(4), 8 * GIB), (4, share(3 * GIB)));
        assert_eq!(limits(8 * GIB, None).room(1, 1, least).0, 1);
    }

    #[test]
    fn a_third_of_many_workers_is_resident_where_it_is_small() {
        let least = LeastMemory { all: 2 * GIB, another: GIB };
        let room = |workers, budget, planned| {
            Limits { planned, ..limits(budget, None) }.room(workers, 1, least).0
        };
        assert_eq!(room(8, 7 * GIB, Some(least)), 3);
        assert_eq!(room(8, 6 * GIB, Some(least)), 2);
        assert_eq!(room(7, 7 * GIB, Some(least)), 2);
        assert_eq!(room(8, 7 * GIB, None), 2);
    }

    #[test]
    fn shares_grow_until_the_budget_is_used_and_shrink_when_it_is_exceeded() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        assert_eq!((control.slots(), control.parked_share()), (1, 0));
        governor.epoch();
        let first = control.parked_share();
        assert_eq!(control.slots(), 2);
        assert!(first > GIB);
        epoch(&mut governor, 4 * GIB);
        let second = control.parked_share();
        assert!(second > first && second <= 2 * GIB);
        epoch(&mut governor, 8 * GIB);
        assert_eq!(control.parked_share(), second);

        let halved = (second / 2) >> 10 << 10;
        turn(&control);
        governor.watch(usage(9 * GIB)).unwrap();
        assert_eq!(control.parked_share(), halved);
        // No rank has had a turn since.
        governor.watch(usage(9 * GIB)).unwrap();
        assert_eq!(control.parked_share(), halved);
        epoch(&mut governor, 4 * GIB);
        assert_eq!(control.parked_share(), halved, "not raised again");
    }

    #[test]
    fn a_first_epoch_keeps_what_leaves_room_for_workers_that_grow() {
        let control = Arc::new(Control::in_memory(4, 1).unwrap());
        let mut governor =
            Governor::new(control.clone(), Limits { lends: true, ..limits(8 * GIB, None) });
        let mut look = |bytes| {
            let sum = GIB + bytes;
            let largest = WorkerUsage { slot: 0, bytes };
            governor.watch(MemoryUsage { sum, largest, peak: bytes }).unwrap();
            (control.slots(), control.parked_share())
        };
        assert_eq!(look(0), (2, 7 * GIB / 8));
        assert_eq!(look(GIB / 2), (2, 4 * GIB / 8));
        assert_eq!(look(2 * GIB), (1, GIB / 8));
        assert_eq!(look(GIB / 2), (1, GIB / 8), "the largest so far counts");
        governor.epoch();
        assert!(control.parked_share() >= GIB / 8);
    }

    #[test]
    fn the_run_ends_when_nothing_is_left_to_give_up() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        governor.epoch();
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
            (control.slots(), control.parked_share())
        };
        // Shares are whole kibibytes.
        let share = |left: u64| ((left as f64 * SAFETY) as u64 / 4) >> 10 << 10;
        assert_eq!(planned(8 * GIB, 0, 0), (2, share(8 * GIB)));
        assert_eq!(planned(8 * GIB, 2 * GIB, GIB), (2, share(7 * GIB / 2)));
        assert_eq!(planned(4 * GIB, 2 * GIB, GIB), (1, share(GIB)));
        assert_eq!(planned(2 * GIB, 2 * GIB, GIB), (1, 0));
        assert_eq!(planned(0, 2 * GIB, GIB), (1, 0));
        let (mut governor, control) = self::governor(limits(0, None));
        governor.epoch();
        assert_eq!((control.slots(), control.parked_share()), (1, 0));
    }

    #[test]
    fn an_evaluation_begins_with_what_is_known_of_evaluations() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        control.begin(Work::Evaluation);
        assert_eq!((control.slots(), control.parked_share()), (1, 0));
        governor.watch(usage(7 * GIB)).unwrap();
        // The training was judged when the evaluation began, and all of it was.
        let trained = (control.slots_of(Work::Training), control.parked_share_of(Work::Training));
        assert_eq!(trained.0, 2);
        assert!(trained.1 > GIB);
        assert_eq!((control.slots(), control.parked_share()), (1, 0));
        control.begin(Work::Training);
        assert_eq!((control.slots(), control.parked_share()), trained);
        governor.watch(usage(2 * GIB)).unwrap();
        governor.epoch();
        assert_eq!((control.slots(), control.parked_share()), trained, "a part of an epoch counts");
        let left = (GIB as f64 * SAFETY) as u64 / 4;
        control.begin(Work::Evaluation);
        assert_eq!((control.slots(), control.parked_share()), (1, left >> 10 << 10));
    }

    #[test]
    fn an_evaluation_gets_what_a_bound_leaves() {
        let control = Arc::new(Control::in_memory(4, 1).unwrap());
        let bounds = WorkerBounds { batch: None, evaluation: Some(2 * GIB) };
        let bounded = Limits { bounds, ..limits(8 * GIB, None) };
        let mut governor = Governor::new(control.clone(), bounded);
        control.begin(Work::Evaluation);
        let mut look = |bytes| {
            governor.watch(usage(bytes)).unwrap();
            (control.slots(), control.parked_share())
        };
        let share = |left: u64| ((left as f64 * SAFETY) as u64 / 4) >> 10 << 10;
        // Ranks may still be giving back what the training has left them.
        assert_eq!(look(5 * GIB), (1, share(GIB)));
        assert_eq!(look(2 * GIB), (2, share(2 * GIB)));
        assert_eq!(look(6 * GIB), (2, share(2 * GIB)));
        control.begin(Work::Training);
        assert_eq!((control.slots(), control.parked_share()), (1, 0));
    }

    #[test]
    fn two_workers_begin_on_batches_where_a_bound_allows_it() {
        let slots = |batch| {
            let bounds = WorkerBounds { batch, evaluation: None };
            governor(Limits { bounds, ..limits(8 * GIB, None) }).1.slots()
        };
        assert_eq!((slots(Some(2 * GIB)), slots(Some(3 * GIB)), slots(None)), (2, 1, 1));
    }
}
