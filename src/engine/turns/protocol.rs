//! The turn lock, the barrier and the stop signal, on four shared words; see this folder's README.

use super::word::Word;

/// The bit that is set in a word on which ranks sleep when all of them must stop; the count below it is unchanged.
const STOPPED: u32 = 1 << 31;
/// The counting part of a word.
const COUNT: u32 = STOPPED - 1;
/// The counting part of `released`; the number of slots (less one) stands above it.
const TURNS: u32 = (1 << SLOTS_AT) - 1;
const SLOTS_AT: u32 = 19;
/// Largest number of ranks that may be resident at a time; the bits for it could hold one more.
pub(super) const MAX_SLOTS: u32 = (STOPPED >> SLOTS_AT) - 1;
/// Mask that wakes every sleeper.
const EVERYBODY: u32 = u32::MAX;

/// The reason why a wait ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The user asked to stop.
    Interrupted,
    /// A rank failed.
    Aborted,
}

/// Shared state of a run: which ranks may be resident, which have arrived at the collective, and whether to stop.
///
/// All ranks may call all methods at any time. A rank that dies never blocks the launcher; other ranks wait until the
/// launcher calls [`stop`](Protocol::stop).
#[derive(Debug)]
pub struct Protocol<W> {
    /// Number of turns that have ended, modulo 2^19, and the number of slots. They share a word, so that an additional
    /// slot wakes a rank that waits for one.
    pub released: W,
    /// Number of ranks that have arrived at the current collective.
    pub arrived: W,
    /// Number of collectives completed since the start, modulo 2^31.
    pub generation: W,
    /// 0, or the reason why all ranks must stop.
    pub reason: W,
}

impl<W: Word> Protocol<W> {
    /// Number of ranks that may be resident at a time; initially 1.
    pub fn slots(&self) -> u32 {
        slots(self.released.load())
    }

    /// Sets the number of ranks that may be resident at a time. An increase has effect at once, a decrease when turns
    /// end.
    pub fn set_slots(&self, slots: u32) {
        let above = (slots.clamp(1, MAX_SLOTS) - 1) << SLOTS_AT;
        self.released.update(|word| word & (STOPPED | TURNS) | above);
        self.released.wake(EVERYBODY);
    }

    /// Waits until turn number `ticket` may begin: all turns before it have ended, or all except `slots - 1` of them and
    /// `beside` admits it beside this number of others. `beside` is asked again after each turn that ends.
    ///
    /// The caller assigns each ticket number once, so the order of turns is the same in every run. `idle` runs before each
    /// sleep.
    ///
    /// # Errors
    /// The reason why the run is being stopped, or the error of `idle`.
    pub fn acquire<E: From<Stop>>(
        &self,
        ticket: u32,
        beside: impl Fn(u32) -> bool,
        mut idle: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let word = self.released.load();
            self.check(word)?;
            let ahead = turns_ahead(ticket, word);
            if ahead <= 0 || ahead < slots(word) as i32 && beside(ahead.unsigned_abs()) {
                return Ok(());
            }
            idle()?;
            self.released.wait(word, 1 << (ticket % 32));
        }
    }

    /// Ends a turn and wakes the ranks whose turns can begin.
    pub fn release(&self) {
        let (_, word) = self.released.update(|word| word & !TURNS | word.wrapping_add(1) & TURNS);
        let admitted = (0..slots(word)).map(|slot| 1 << (word.wrapping_add(slot) % 32));
        self.released.wake(admitted.fold(0, |all, one| all | one));
    }

    /// Wakes all ranks that wait, which then sleep again unless what they wait for has come.
    pub fn call(&self) {
        self.released.wake(EVERYBODY);
        self.generation.wake(EVERYBODY);
    }

    /// Counts one of `parties` as arrived at the current collective, without waiting; pass the result to
    /// [`wait`](Protocol::wait).
    pub fn arrive(&self, parties: u32) -> u32 {
        // The generation cannot change before this rank has arrived, because the collective cannot complete without it.
        let generation = self.generation.load() & COUNT;
        let (_, arrived) = self.arrived.update(|count| count + 1);
        if arrived == parties {
            // No rank arrives at the next collective before it sees the new generation.
            self.arrived.update(|_| 0);
            self.generation.update(next);
            self.generation.wake(EVERYBODY);
        }
        generation
    }

    /// Number of parties that have arrived at the current collective.
    pub(super) fn arrived(&self) -> u32 {
        self.arrived.load()
    }

    /// Number of collectives completed since the start, modulo 2^31.
    pub fn generation(&self) -> u32 {
        self.generation.load() & COUNT
    }

    /// Waits until every rank has arrived at the collective with this number. `idle` runs before each sleep.
    ///
    /// # Errors
    /// The reason why the run is being stopped, on all ranks or on none; or the error of `idle`.
    pub fn wait<E: From<Stop>>(
        &self,
        generation: u32,
        mut idle: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let word = self.generation.load();
            if word & COUNT != generation {
                return Ok(());
            }
            self.check(word)?;
            idle()?;
            self.generation.wait(word, EVERYBODY);
        }
    }

    /// Ends every wait, current or future, with `stop`, except that for a complete collective. Only the first reason is stored.
    pub fn stop(&self, stop: Stop) {
        self.reason.compare_exchange(0, code(stop));
        for word in [&self.released, &self.generation] {
            word.update(|value| value | STOPPED);
            word.wake(EVERYBODY);
        }
    }

    /// The reason why all ranks must stop, if they must.
    pub fn stopped(&self) -> Option<Stop> {
        match self.reason.load() {
            0 => None,
            reason if reason == code(Stop::Interrupted) => Some(Stop::Interrupted),
            _ => Some(Stop::Aborted),
        }
    }

    fn check(&self, word: u32) -> Result<(), Stop> {
        if word & STOPPED == 0 { Ok(()) } else { Err(self.stopped().unwrap_or(Stop::Aborted)) }
    }
}

fn code(stop: Stop) -> u32 {
    match stop {
        Stop::Interrupted => 1,
        Stop::Aborted => 2,
    }
}

/// Adds one to the count, unless the stop bit is set: a collective that was not complete then ends on no rank.
fn next(word: u32) -> u32 {
    if word & STOPPED == 0 { word.wrapping_add(1) & COUNT } else { word }
}

fn slots(word: u32) -> u32 {
    ((word & !STOPPED) >> SLOTS_AT) + 1
}

/// Number of turns before `ticket` that have not ended; negative if turns after it have. Counts wrap at 2^19.
fn turns_ahead(ticket: u32, word: u32) -> i32 {
    // Shifting the 19-bit difference to the top makes its sign the sign of an i32.
    let unused = u32::BITS - SLOTS_AT;
    ((ticket.wrapping_sub(word) << unused) as i32) >> unused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted_across_the_wrap_of_the_counter() {
        assert_eq!(turns_ahead(5, 3), 2);
        assert_eq!(turns_ahead(3, 5), -2);
        assert_eq!(turns_ahead(1, TURNS), 2);
        assert_eq!(turns_ahead(TURNS, 1), -2);
        assert_eq!(turns_ahead(1, STOPPED | 5 << SLOTS_AT | TURNS), 2);
        assert_eq!(next(COUNT), 0);
        assert_eq!(next(STOPPED | 5), STOPPED | 5);
    }
}
