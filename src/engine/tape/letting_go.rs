//! The point of a forward pass until which dropped values are released.

use std::cell::Cell;
use std::rc::Rc;

/// Values that a model has dropped are not needed before the backward pass. They may leave memory until the last pause
/// of the forward pass; after it, they are needed before the next pause. The previous pass shows which pause is the
/// last.
#[derive(Default)]
pub(super) struct LettingGo {
    now: Rc<Cell<bool>>,
    until: usize,
    turn: u64,
    last_pause: usize,
}

impl LettingGo {
    /// Releases dropped values until `last_pause` operations are recorded: the number at the last pause of an equal
    /// pass, or 0 if it had no pause. `turn` is the turn in which the pass begins.
    pub(super) fn until(last_pause: usize, turn: u64) -> Self {
        let now = Rc::new(Cell::new(last_pause > 0));
        LettingGo { now, until: last_pause, turn, last_pause: 0 }
    }

    /// Whether dropped values are released now.
    pub(super) fn now(&self) -> &Rc<Cell<bool>> {
        &self.now
    }

    /// Records an operation in turn `turn`, after `others` other operations.
    pub(super) fn record(&mut self, others: usize, turn: u64) {
        self.see(others, turn);
        self.now.set(others + 1 < self.until);
    }

    /// Ends the forward pass; returns the number of operations that had begun at its last pause, including the one that
    /// paused.
    pub(super) fn end(&mut self, operations: usize, turn: u64) -> usize {
        self.see(operations, turn);
        self.now.set(false);
        self.last_pause
    }

    fn see(&mut self, operations: usize, turn: u64) {
        if turn != self.turn {
            self.turn = turn;
            self.last_pause = operations + 1;
        }
    }
}
