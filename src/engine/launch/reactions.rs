//! Opportunities of ranks to give up memory.

use crate::engine::turns::{Control, RankStatus};

/// The progress of a rank.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Number of turns that it has begun.
    turns: u32,
    /// Number of collectives that it has posted to.
    collectives: u64,
}

impl Progress {
    fn of(rank: &RankStatus) -> Self {
        Progress { turns: rank.turns(), collectives: rank.posted() }
    }

    /// Whether the rank could give up memory since `then`: it has begun a turn, or, without turns, waited in a collective from its
    /// begin to its end.
    fn could_react(self, then: Self) -> bool {
        self.turns != then.turns || self.collectives >= then.collectives + 2
    }
}

/// Whether ranks could give up memory since they were asked for it. A rank that computes can only do so when it waits.
#[derive(Debug, Default)]
pub(super) struct Reactions {
    now: Vec<Progress>,
    /// Progress when the reserve last settled.
    settled: Vec<Progress>,
    /// Progress when the room or the number of residents was last lowered.
    lowered: Vec<Progress>,
}

impl Reactions {
    /// Notes the progress of the ranks.
    pub(super) fn look(&mut self, control: &Control) {
        let ranks = (0..control.num_ranks()).map(|rank| control.rank(rank));
        self.now = ranks.map(Progress::of).collect();
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
            self.settled.clone_from(&self.now);
        }
        could
    }

    /// Whether all ranks could react to the last lowering.
    pub(super) fn are_complete(&self) -> bool {
        self.since(&self.lowered)
    }

    /// Notes that the room or the number of residents was lowered.
    pub(super) fn begin(&mut self) {
        self.lowered.clone_from(&self.now);
    }

    fn since(&self, then: &[Progress]) -> bool {
        self.now.iter().zip(then).all(|(now, then)| now.could_react(*then))
    }
}
