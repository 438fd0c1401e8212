//! One rank's turn lock.

mod claims;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use tracing::debug;

use super::control::Control;
use super::run_status::Request;
use super::status::{Activity, RankStatus};
use super::work::Work;
use crate::event::{Interval, SpanKind, TurnSpan, record, span};
use crate::io::{IoCounters, IoTotals};
use crate::platform::{nanoseconds, peak_anonymous_bytes, reset_peak};
use crate::words::error::Result;

/// Interval at which a paused rank checks whether it may continue.
const LOOK: Duration = Duration::from_millis(20);

/// One rank's side of the lock with K slots. Turns are taken in a fixed order, alternately 0..N-1 and N-1..0: the rank
/// that ends one phase begins the next, with its data still in caches.
#[derive(Debug)]
pub struct TurnLock {
    control: Arc<Control>,
    slot: usize,
    turns: Cell<u64>,
    record: RefCell<TurnRecord>,
    counters: IoCounters,
    /// Whether the rank is a separate process, which records the growth of its memory in each turn.
    is_process: bool,
    /// State at the start of the current turn.
    at_begin: Cell<Option<TurnStart>>,
    /// Number of the current turn since the epoch or batch began, from 0.
    number: Cell<usize>,
    /// Whether an epoch or batch of the training has begun.
    is_numbered: Cell<bool>,
    /// Kind of this rank's work, which it begins before or after other ranks.
    work: Cell<Work>,
    /// Number of times that ranks had been asked to give up memory when this rank last looked.
    asks: Cell<u32>,
}

/// Maximum number of turns that are recorded.
const MOST_RECORDED: usize = 2000;

/// Turns since they were last taken.
#[derive(Debug, Default)]
struct TurnRecord {
    /// Start of the current turn, in nanoseconds.
    begin: Option<u64>,
    spans: Vec<TurnSpan>,
    /// Bytes that had been written and read at the last record.
    counted: IoTotals,
}

impl TurnLock {
    /// The lock of the rank in this slot of the control block. All ranks must take the same number of turns.
    pub fn new(control: Arc<Control>, slot: usize) -> Self {
        Self::counting(control, slot, IoCounters::default())
    }

    /// The lock of the rank in this slot, with counters of its bytes.
    pub fn counting(control: Arc<Control>, slot: usize, counters: IoCounters) -> Self {
        let (turns, record) = (Cell::new(0), RefCell::default());
        let (is_process, at_begin) = (false, Cell::new(None));
        let (number, is_numbered, asks) = (Cell::new(0), Cell::new(false), Cell::new(0));
        let work = Cell::new(control.work());
        TurnLock {
            control,
            slot,
            turns,
            record,
            counters,
            is_process,
            at_begin,
            number,
            is_numbered,
            work,
            asks,
        }
    }

    /// The same lock, for a rank that is a separate process: it records the growth of the process's memory in each
    /// turn.
    #[must_use]
    pub fn of_process(self) -> Self {
        TurnLock { is_process: true, ..self }
    }

    /// Waits for this rank's next turn. `idle` runs before each sleep, a few times per second.
    ///
    /// # Errors
    /// If the run is being stopped (`Aborted`, `Interrupted`), or `idle` fails.
    pub fn acquire(&self, idle: impl FnMut() -> Result<()>) -> Result<()> {
        let turn = self.turns.get();
        let ticket = self.ticket(self.slot, turn);
        let begin = nanoseconds();
        let waits = span(SpanKind::Wait, "wait for a turn");
        // The first rank that takes a turn is alone: nothing is known of the turn's memory.
        let number = self.number.get() + 1;
        let admits = |others| self.control.admits(self.work.get(), self.coming(number), others);
        let beside = |others| !self.is_process || admits(others);
        self.control.acquire(ticket as u32, beside, idle)?;
        drop(waits);
        let now = nanoseconds();
        debug!(turn, waited_ms = (now - begin) / 1_000_000, "turn begins");
        self.turns.set(turn + 1);
        self.number.set(number);
        self.record.borrow_mut().begin = Some(now);
        self.status().turns.count();
        // The launcher counts a resident rank's peak.
        if self.is_process {
            let (work, cached) = (self.work.get(), self.status().cached());
            let start = |memory| TurnStart { work, number, memory, cached };
            self.at_begin.set(reset_peak().map(start));
        }
        self.status().set_activity(Activity::Resident);
        Ok(())
    }

    /// The number of the next turn, which is `number` unless the first epoch begins in it, as on other ranks.
    fn coming(&self, number: usize) -> usize {
        let begins = self.control.growth(self.work.get()).has_begun();
        if begins && !self.is_numbered.get() { 0 } else { number }
    }

    /// Whether this turn is the last one of its round.
    fn is_last(&self) -> bool {
        let ranks = self.control.num_ranks() as u64;
        self.ticket(self.slot, self.turns.get().wrapping_sub(1)) % ranks == ranks - 1
    }

    /// Waits, between two turns, while the user has paused the run; `leave` returns memory before that.
    ///
    /// # Errors
    /// If `leave` fails, or the run is being stopped.
    pub fn pause(&self, leave: impl FnOnce() -> Result<()>) -> Result<()> {
        if !self.control.is_due(Request::Pause) {
            return Ok(());
        }
        leave()?;
        debug!("paused");
        let begin = nanoseconds();
        self.status().set_activity(Activity::Paused);
        while self.control.is_due(Request::Pause) {
            if let Some(stop) = self.control.stopped() {
                return Err(stop.into());
            }
            std::thread::sleep(LOOK);
        }
        record("paused", Interval { begin, end: nanoseconds() }, String::new);
        self.status().set_activity(Activity::Parked);
        Ok(())
    }

    /// Ends the turn.
    pub fn release(&self) {
        debug!(turn = self.turns.get().wrapping_sub(1), "turn ends");
        self.note_turn(false);
        if let Some(before) = self.at_begin.take()
            && let Some(peak) = peak_anonymous_bytes("self")
        {
            // Messages that it wrote are in the page cache.
            let written = self.status().cached().saturating_sub(before.cached);
            let growth = peak.saturating_sub(before.memory) + written;
            let note = |work, number| {
                let shows = self.is_last() || !self.status().is_small(work);
                self.control.note_growth(work, number, growth, shows);
            };
            note(before.work, before.number);
            // The turn that ends an epoch, or other work, begins the next one.
            let now = (self.work.get(), self.number.get());
            if now != (before.work, before.number) {
                note(now.0, now.1);
            }
        }
        self.status().set_activity(Activity::Parked);
        self.control.release();
    }

    /// Turns since the last call, including the current one up to now.
    pub fn take_turns(&self) -> Vec<TurnSpan> {
        self.note_turn(true);
        std::mem::take(&mut self.record.borrow_mut().spans)
    }

    /// Records the current turn up to now; `goes_on` if it continues.
    fn note_turn(&self, goes_on: bool) {
        let turns = &mut *self.record.borrow_mut();
        let Some(begin) = turns.begin else { return };
        let end = nanoseconds();
        let (status, moved) = (self.status(), self.counters.totals());
        let IoTotals { written, read, cached, sent, saved_in_writing, saved_in_reading } =
            moved - turns.counted;
        record("turn", Interval { begin, end }, || {
            let (turn, epoch, phase) = (self.turns.get(), status.epoch.get(), status.phase());
            format!(
                r#""turn":{turn},"epoch":{epoch},"phase":"{phase}","written":{written},"read":{read},"cached":{cached},"sent":{sent},"saved_in_writing":{saved_in_writing},"saved_in_reading":{saved_in_reading}"#
            )
        });
        turns.counted = moved;
        if turns.spans.len() < MOST_RECORDED {
            let phase = status.phase().to_string();
            turns.spans.push(TurnSpan { begin_s: seconds(begin), end_s: seconds(end), phase });
        }
        turns.begin = goes_on.then_some(end);
    }

    /// Ends the last turn, if it has not ended.
    pub fn finish(&self) {
        if self.record.borrow().begin.is_some() {
            self.release();
        }
        self.status().set_activity(Activity::Finished);
    }

    /// Whether this is the only rank of the run, so that no operation on the graph waits.
    pub fn is_alone(&self) -> bool {
        self.control.num_ranks() == 1 && !self.control.has_carrier()
    }

    /// Begins other work on this machine, if this rank is the one to do it. All ranks are prepared for it once they
    /// have completed the next collective.
    pub fn begin(&self, work: Work) {
        self.number.set(0);
        self.work.set(work);
        if self.slot == 0 {
            self.control.begin(work);
        }
    }

    /// Number of this turn of a rank among the turns of all ranks.
    fn ticket(&self, slot: usize, turn: u64) -> u64 {
        let ranks = self.control.num_ranks() as u64;
        let slot = slot as u64;
        turn * ranks + if turn.is_multiple_of(2) { slot } else { ranks - 1 - slot }
    }

    /// Restarts the numbering of turns, at the start of an epoch or of a batch. Turns with the same
    /// number take about the same memory; those before the first epoch, in which data are loaded, do not count.
    pub fn number_turns(&self) {
        self.number.set(0);
        let work = self.work.get();
        if work == Work::Training && !self.is_numbered.replace(true) {
            self.at_begin.set(self.at_begin.get().map(|begin| TurnStart { number: 0, ..begin }));
            self.control.growth(work).begin();
        }
    }

    /// Number of turns that this rank has taken.
    pub fn turns(&self) -> u64 {
        self.turns.get()
    }

    /// This rank's slot in the control block.
    pub fn status(&self) -> &RankStatus {
        self.control.rank(self.slot)
    }
}

/// A rank's work and memory at the start of a turn, in bytes.
#[derive(Debug, Clone, Copy)]
struct TurnStart {
    work: Work,
    /// The turn's number when it began.
    number: usize,
    /// Anonymous memory.
    memory: u64,
    /// Page cache of the rank's messages.
    cached: u64,
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn messages_that_a_turn_writes_are_part_of_its_growth() {
        let control = Arc::new(Control::in_memory(1, 1).unwrap());
        let lock = TurnLock::new(control.clone(), 0).of_process();
        let growth = |cached: u64| {
            lock.acquire(|| Ok(())).unwrap();
            lock.set_cached(cached);
            lock.release();
            let noted = control.growth(Work::Training).noted();
            control.growth(Work::Training).forget();
            noted
        };
        // More than other tests of this process take.
        let much = 1 << 40;
        assert!(growth(much) >= much);
        assert!(growth(much + MIB) < much && growth(MIB) < much);
    }

    #[test]
    fn a_turn_that_ends_an_epoch_counts_for_both_and_loading_for_none() {
        let control = Arc::new(Control::in_memory(1, 1).unwrap());
        control.set_room_of(Work::Training, 1 << 50);
        let lock = TurnLock::new(control.clone(), 0).of_process();
        let known = || [0, 1, 2, 3].map(|turn| control.admits(Work::Training, turn, 1));
        let turn = |begins_epoch: bool| {
            lock.acquire(|| Ok(())).unwrap();
            if begins_epoch {
                lock.number_turns();
            }
            lock.release();
        };
        turn(false);
        assert_eq!(known(), [false, true, false, false]);
        turn(true);
        assert_eq!(known(), [true, false, false, false], "what loading took is forgotten");
        turn(false);
        turn(false);
        turn(true);
        assert_eq!(known(), [true; 4]);
    }

    #[test]
    fn the_turn_in_which_work_begins_is_its_first_and_no_other() {
        let control = Arc::new(Control::in_memory(2, 2).unwrap());
        for work in Work::ALL {
            control.set_room_of(work, 1 << 50);
        }
        let locks = [0, 1].map(|slot| TurnLock::new(control.clone(), slot).of_process());
        for lock in &locks {
            lock.acquire(|| Ok(())).unwrap();
            lock.begin(Work::Evaluation);
            lock.number_turns();
            lock.release();
        }
        let known = |work| [0, 1, 2].map(|turn| control.admits(work, turn, 1));
        assert_eq!(known(Work::Training), [false, true, false]);
        assert_eq!(known(Work::Evaluation), [true, false, false]);
    }

    #[test]
    fn a_round_of_small_ranks_shows_what_a_turn_takes() {
        let control = Arc::new(Control::in_memory(2, 2).unwrap());
        control.set_room_of(Work::Training, 1 << 50);
        control.compare_ranks(Work::Training, &[]);
        let known = || control.admits(Work::Training, 1, 1);
        let locks = [0, 1].map(|slot| TurnLock::new(control.clone(), slot).of_process());
        for lock in &locks {
            assert!(!known());
            lock.acquire(|| Ok(())).unwrap();
            lock.release();
        }
        assert!(known());
    }

    #[test]
    fn the_turn_in_which_the_first_epoch_begins_is_known_once_a_rank_has_ended_it() {
        let control = Arc::new(Control::in_memory(2, 2).unwrap());
        control.set_room_of(Work::Training, 1 << 50);
        let locks = [0, 1].map(|slot| TurnLock::new(control.clone(), slot).of_process());
        let [first, second] = &locks;
        for lock in &locks {
            lock.acquire(|| Ok(())).unwrap();
            lock.release();
        }
        second.acquire(|| Ok(())).unwrap();
        second.number_turns();
        assert!(!control.admits(Work::Training, first.coming(2), 1));
        second.release();
        assert!(control.admits(Work::Training, first.coming(2), 1));
    }
}
