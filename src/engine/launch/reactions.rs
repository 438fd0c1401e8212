//! Opportunities of ranks to give up memory.

use crate::engine::turns::{Activity, Control, RankStatus};

/// Number of samples in a row without a rank in its turn after which ranks count as working side by side. Between two turns,
/// it is at most one.
const SIDE_BY_SIDE: usize = 3;

/// What ranks have had the opportunity to do since they were asked for memory. A rank that computes can only react in its
/// next turn; ranks that work side by side take no turns, and get the time of a few samples.
#[derive(Debug, Default)]
pub(super) struct Reactions {
    /// Number of turns that each rank has begun.
    turns: Vec<u32>,
    /// The same when the reserve last settled.
    settled: Vec<u32>,
    /// The same when the room or the number of residents was last lowered.
    lowered: Vec<u32>,
    /// Number of samples since then, and in a row, in which no rank was in its turn.
    without_turns: usize,
}

impl Reactions {
    /// Notes what ranks are doing.
    pub(super) fn look(&mut self, control: &Control) {
        let ranks = || (0..control.num_ranks()).map(|rank| control.rank(rank));
        self.turns = ranks().map(RankStatus::turns).collect();
        let in_turn = ranks().any(|rank| rank.activity() == Activity::Resident);
        self.without_turns = if in_turn { 0 } else { self.without_turns + 1 };
    }

    /// Forgets what was lowered, because the ranks begin other work.
    pub(super) fn clear(&mut self) {
        self.settled.clear();
        self.lowered.clear();
    }

    /// Whether all ranks could react since this was last true.
    pub(super) fn settle(&mut self) -> bool {
        let could = self.since(&self.settled);
        if could {
            self.settled.clone_from(&self.turns);
        }
        could
    }

    /// Whether all ranks could react to the last lowering.
    pub(super) fn are_complete(&self) -> bool {
        self.since(&self.lowered)
    }

    /// Notes that the room or the number of residents was lowered.
    pub(super) fn begin(&mut self) {
        self.lowered.clone_from(&self.turns);
        self.without_turns = 0;
    }

    /// Whether ranks compute without turns.
    pub(super) fn are_side_by_side(&self) -> bool {
        self.without_turns >= SIDE_BY_SIDE
    }

    fn since(&self, then: &[u32]) -> bool {
        self.are_side_by_side() || self.turns.iter().zip(then).all(|(now, then)| now != then)
    }
}
