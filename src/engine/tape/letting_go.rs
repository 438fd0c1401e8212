//! Until when a forward pass lets go of values.

use std::cell::Cell;
use std::rc::Rc;

/// Values that a model has dropped are not needed before the backward pass, so until a forward pass has come to its last pause
/// they may leave memory. Behind it they are needed before the next pause. Which one is the last is what the pass before has shown.
#[derive(Default)]
pub(super) struct LettingGo {
    now: Rc<Cell<bool>>,
    until: usize,
    turn: u64,
    last_pause: usize,
}

impl LettingGo {
    /// Lets go until as many operations are recorded as had begun by the last pause of a pass like this; 0 if it had none. `turn`
    /// is the turn in which the pass begins.
    pub(super) fn until(last_pause: usize, turn: u64) -> Self {
        let now = Rc::new(Cell::new(last_pause > 0));
        LettingGo { now, until: last_pause, turn, last_pause: 0 }
    }

    /// Whether values leave now.
    pub(super) fn now(&self) -> &Rc<Cell<bool>> {
        &self.now
    }

    /// An operation is being recorded in turn `turn`, behind so many others.
    pub(super) fn record(&mut self, others: usize, turn: u64) {
        self.see(others, turn);
        self.now.set(others + 1 < self.until);
    }

    /// The forward pass ends; gives how many operations had begun by its last pause, the one that paused included.
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
