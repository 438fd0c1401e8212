//! Who may keep how much: the memory budget of a run, shared out among its workers.

use std::sync::Arc;

use super::memory::Usage;
use crate::error::{Error, Result, exit};
use crate::event::size;
use crate::ipc::Control;

/// Of what is left of the budget, this much is given out: the rest is for what happens between two samples.
const SAFETY: f64 = 0.85;

/// Shares below this, in bytes, are not worth halving any more.
const LEAST: u64 = 4 << 20;

/// Shares a budget out.
///
/// In the first epoch waiting workers keep nothing, which shows how much the run needs at least. Afterwards what is left of
/// the budget is divided among them, and less of it if the sum comes near the budget all the same.
pub(super) struct Governor {
    control: Arc<Control>,
    /// Bytes; 0: as little as possible.
    budget: u64,
    shared_out: bool,
    /// The turns each rank had begun when shares were last lowered: until it begins another, it cannot have acted on it.
    turns: Vec<u32>,
}

/// What each of so many waiting workers may keep of a budget, if the run takes `peak` bytes with nothing kept.
pub(super) fn share(budget: u64, peak: u64, workers: usize) -> u64 {
    (budget.saturating_sub(peak) as f64 * SAFETY / workers as f64) as u64
}

impl Governor {
    pub(super) fn new(control: Arc<Control>, budget: u64) -> Self {
        Governor { control, budget, shared_out: false, turns: Vec::new() }
    }

    /// After the first epoch, in which all processes together took at most `peak` bytes.
    pub(super) fn share_out(&mut self, peak: u64) {
        if !self.shared_out && self.budget > 0 {
            self.shared_out = true;
            self.control.set_parked_share(share(self.budget, peak, self.control.world_size()));
        }
    }

    /// What all processes take now.
    ///
    /// # Errors
    /// If that is more than the budget although waiting workers keep nothing.
    pub(super) fn watch(&mut self, usage: Usage) -> Result<()> {
        if self.budget == 0 || usage.sum <= self.budget {
            return Ok(());
        }
        let turns: Vec<u32> =
            (0..self.control.world_size()).map(|rank| self.control.rank(rank).turns()).collect();
        if turns.iter().zip(&self.turns).any(|(now, then)| now == then) {
            return Ok(());
        }
        let share = self.control.parked_share();
        if share > 0 {
            self.turns = turns;
            self.control.set_parked_share(if share > LEAST { share / 2 } else { 0 });
            return Ok(());
        }
        let (rank, bytes) = usage.largest;
        let problem = format!(
            "the run takes {} with nothing kept by workers that wait; the memory budget is {}; rank {rank} takes the most, \
             {}, in {}",
            size(usage.sum),
            size(self.budget),
            size(bytes),
            self.control.rank(rank).phase()
        );
        let hint = "raise --memory-budget, lower --resident or --hidden, or cut the graph into more partitions";
        Err(Error::Worker { problem, hint: Some(hint.to_owned()), exit: exit::OUT_OF_RESOURCES })
    }
}
