//! The turn lock of one rank.

use std::cell::Cell;
use std::sync::Arc;

use super::control::Control;
use super::status::{Activity, RankStatus};
use crate::error::Result;

/// A rank's side of the lock with K slots. Turns are taken in a fixed order, 0..N-1 and then N-1..0 in alternation, so
/// that the rank that ends one phase begins the next and finds its data hot.
#[derive(Debug)]
pub struct TurnLock {
    control: Arc<Control>,
    rank: usize,
    turns: Cell<u64>,
}

impl TurnLock {
    /// The lock of `rank`; every rank takes and gives back the same number of turns.
    pub fn new(control: Arc<Control>, rank: usize) -> Self {
        TurnLock { control, rank, turns: Cell::new(0) }
    }

    /// Waits for this rank's next turn.
    ///
    /// Fails with `Interrupted` or `Aborted` when the run is being stopped.
    pub fn acquire(&self) -> Result<()> {
        let world = self.control.world_size() as u64;
        let turn = self.turns.get();
        let rank = self.rank as u64;
        let position = if turn.is_multiple_of(2) { rank } else { world - 1 - rank };
        self.control.acquire((turn * world + position) as u32)?;
        self.turns.set(turn + 1);
        self.status().count_turn();
        self.status().set_activity(Activity::Resident);
        Ok(())
    }

    /// Gives the turn back.
    pub fn release(&self) {
        self.status().set_activity(Activity::Parked);
        self.control.release();
    }

    /// Gives the last turn back.
    pub fn finish(&self) {
        self.release();
        self.status().set_activity(Activity::Finished);
    }

    /// Whether there is no other rank, so that no operation on the graph waits.
    pub fn is_alone(&self) -> bool {
        self.control.world_size() == 1
    }

    /// How many bytes this rank may keep in memory between turns.
    pub fn parked_share(&self) -> u64 {
        self.control.parked_share()
    }

    /// How many turns this rank has taken.
    pub fn turns(&self) -> u64 {
        self.turns.get()
    }

    /// This rank's slot in the control block.
    pub fn status(&self) -> &RankStatus {
        self.control.rank(self.rank)
    }
}
