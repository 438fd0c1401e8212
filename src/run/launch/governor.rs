//! The memory budget of a run, divided among its workers.

use std::sync::Arc;

use super::memory::{MemoryUsage, WorkerUsage};
use crate::engine::turns::Control;
use crate::error::{Error, ErrorKind, Result};
use crate::event::size;

/// Fraction of the rest of the budget that is given out; the remainder covers changes between two samples.
const SAFETY: f64 = 0.85;

/// Fraction of the budget below which an epoch leaves room; waiting workers then get half of the rest.
const FULL: f64 = 0.9;

/// Size in bytes below which shares are not halved any more.
const LEAST: u64 = 4 << 20;

/// Number of workers that are resident at a time where the budget allows it: one computes while the other waits for the disk,
/// or does single-threaded work.
const RESIDENT: usize = 2;

/// Factor by which a worker may grow in its first epoch beyond what any has taken so far, without the budget being exceeded.
const GROWTH: u64 = 3;

/// Factor by which a run may take more than was planned, without the budget being exceeded.
const DOUBT: f64 = 1.5;

/// Memory that a run takes if waiting workers keep nothing, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeastMemory {
    /// Memory of all processes together.
    pub all: u64,
    /// What one more resident worker adds to it.
    pub another: u64,
}

/// Limits of a run's memory that are known before it starts.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes that all processes may take together; 0 means as little as possible.
    pub budget: u64,
    /// Number of workers that may be resident at a time; `None` means as many as fit.
    pub resident: Option<usize>,
    /// What the run is planned to take; nothing for one that certainly fits into the budget.
    pub planned: Option<LeastMemory>,
    /// Whether waiting workers may keep memory in the first epoch while all of them are small compared with the budget.
    pub lends: bool,
}

/// A governor that divides a budget.
///
/// What a planned run leaves of the budget is divided among the waiting workers from the start; in a run without a plan, they keep
/// nothing in the first epoch, and only one worker is resident. That shows the minimum that the run needs. Then there may be a
/// second resident worker, and the waiting ones get the rest of the budget: more of it after each epoch that has not used it up,
/// less if the sum exceeds the budget.
pub(in crate::run) struct Governor {
    control: Arc<Control>,
    limits: Limits,
    shared_out: bool,
    /// Whether shares have ever been too large.
    exceeded: bool,
    /// Memory of the largest worker before any share was given out, in bytes.
    worker: u64,
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
        while resident < most && left(peak + least.another) > 0 {
            peak += least.another;
            resident += 1;
        }
        (resident, left(peak) / workers as u64)
    }
}

impl Governor {
    /// The governor of a run that has not started yet.
    pub(in crate::run) fn new(control: Arc<Control>, limits: Limits) -> Self {
        let (shared_out, exceeded) = (false, false);
        let mut governor = Governor {
            control,
            limits,
            shared_out,
            exceeded,
            worker: 0,
            start: None,
            turns: Vec::new(),
        };
        if let Some(LeastMemory { all, another }) = limits.planned.filter(|_| limits.budget > 0) {
            let doubted = |bytes: u64| (bytes as f64 * DOUBT) as u64;
            governor.share_out(LeastMemory { all: doubted(all), another: doubted(another) });
        }
        governor
    }

    /// Adapts the shares after an epoch in which all processes together took at most `peak` bytes.
    pub(in crate::run) fn epoch(&mut self, peak: u64) {
        if self.limits.budget == 0 {
            return;
        }
        if self.shared_out {
            self.raise(peak);
        } else {
            self.share_out(LeastMemory { all: peak, another: self.worker });
        }
    }

    fn raise(&self, peak: u64) {
        let left = (self.limits.budget as f64 * FULL) as u64;
        let workers = self.control.num_ranks() as u64;
        let share = self.control.parked_share() + left.saturating_sub(peak) / 2 / workers;
        if !self.exceeded {
            // No more than an equal part of the budget is ever used.
            self.control.set_parked_share(share.min(self.limits.budget / workers));
        }
    }

    fn share_out(&mut self, least: LeastMemory) {
        self.shared_out = true;
        let (workers, slots) = (self.control.num_ranks(), self.control.slots());
        let (resident, share) = self.limits.room(workers, slots, least);
        self.control.set_slots(resident);
        // What has been lent was part of the peak.
        self.control.set_parked_share(share.max(self.control.parked_share()));
    }

    /// Lends half of what the budget has left beyond residents that grow.
    fn lend(&mut self, sum: u64) {
        let start = *self.start.get_or_insert(sum);
        let Limits { budget, resident, .. } = self.limits;
        let workers = self.control.num_ranks();
        let free = |residents: usize| {
            budget.saturating_sub(start + GROWTH * residents as u64 * self.worker) / 2
        };
        let most = resident.unwrap_or(RESIDENT).min(workers);
        let least = resident.unwrap_or(1).min(workers);
        let residents = if free(most) > 0 { most } else { least };
        if residents != self.control.slots() {
            self.control.set_slots(residents);
        }
        self.control.set_parked_share(free(residents) / workers as u64);
    }

    /// Checks what all processes take now, and lowers shares if it exceeds the budget.
    ///
    /// # Errors
    /// If it exceeds the budget although waiting workers keep nothing, and no more are resident than requested.
    pub(super) fn watch(&mut self, usage: MemoryUsage) -> Result<()> {
        let Limits { budget, resident, .. } = self.limits;
        if !self.shared_out {
            self.worker = self.worker.max(usage.largest.bytes);
            if self.limits.lends && budget > 0 && !self.exceeded {
                self.lend(usage.sum);
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
        self.exceeded = true;
        let share = self.control.parked_share();
        if share > 0 {
            self.turns = turns;
            self.control.set_parked_share(if share > LEAST { share / 2 } else { 0 });
            return Ok(());
        }
        if self.control.slots() > resident.unwrap_or(1) {
            self.turns = turns;
            self.control.set_slots(resident.unwrap_or(1));
            return Ok(());
        }
        let WorkerUsage { slot, bytes } = usage.largest;
        let status = self.control.rank(slot);
        let rank = status.number();
        let problem = format!(
            "the run takes {} with nothing kept by waiting workers, but the memory budget is {}; rank {rank} takes the most, \
             {}, in {}",
            size(usage.sum),
            size(budget),
            size(bytes),
            status.phase()
        );
        let hint = "raise ‹memory_budget›, lower ‹resident›, ‹model.hidden› or ‹sampling.batch_size›, or cut the graph into more partitions";
        Err(Error::new(ErrorKind::OutOfMemory, problem).with_hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn limits(budget: u64, resident: Option<usize>) -> Limits {
        Limits { budget, resident, planned: None, lends: false }
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
        MemoryUsage { sum, largest: WorkerUsage { slot: 2, bytes: GIB } }
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
    fn shares_grow_until_the_budget_is_used_and_shrink_when_it_is_exceeded() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        assert_eq!((control.slots(), control.parked_share()), (1, 0));
        governor.epoch(2 * GIB);
        let first = control.parked_share();
        assert_eq!(control.slots(), 2);
        assert!(first > GIB);
        governor.epoch(4 * GIB);
        let second = control.parked_share();
        assert!(second > first && second <= 2 * GIB);
        governor.epoch(8 * GIB);
        assert_eq!(control.parked_share(), second);

        let halved = (second / 2) >> 10 << 10;
        turn(&control);
        governor.watch(usage(9 * GIB)).unwrap();
        assert_eq!(control.parked_share(), halved);
        // No rank has had a turn since.
        governor.watch(usage(9 * GIB)).unwrap();
        assert_eq!(control.parked_share(), halved);
        governor.epoch(4 * GIB);
        assert_eq!(control.parked_share(), halved, "not raised again");
    }

    #[test]
    fn a_first_epoch_keeps_what_leaves_room_for_workers_that_grow() {
        let control = Arc::new(Control::in_memory(4, 1).unwrap());
        let mut governor =
            Governor::new(control.clone(), Limits { lends: true, ..limits(8 * GIB, None) });
        let mut look = |bytes| {
            let sum = GIB + bytes;
            governor.watch(MemoryUsage { sum, largest: WorkerUsage { slot: 0, bytes } }).unwrap();
            (control.slots(), control.parked_share())
        };
        assert_eq!(look(0), (2, 7 * GIB / 8));
        assert_eq!(look(GIB / 2), (2, 4 * GIB / 8));
        assert_eq!(look(2 * GIB), (1, GIB / 8));
        assert_eq!(look(GIB / 2), (1, GIB / 8), "the largest so far counts");
        governor.epoch(6 * GIB);
        assert!(control.parked_share() >= GIB / 8);
    }

    #[test]
    fn the_run_ends_when_nothing_is_left_to_give_up() {
        let (mut governor, control) = governor(limits(8 * GIB, None));
        governor.epoch(2 * GIB);
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
        governor.epoch(2 * GIB);
        assert_eq!((control.slots(), control.parked_share()), (1, 0));
    }
}
