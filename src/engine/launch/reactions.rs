//! Opportunities of ranks to give up memory.

use crate::engine::turns::{Activity, Control, RankStatus};

/// The progress of a rank.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Number of turns that it has begun.
    turns: u32,
    /// Number of collectives that it has posted to.
    collectives: u64,
    /// Whether it is in its turn. It may have posted to several collectives then, for one pause.
    in_turn: bool,
}

impl Progress {
    fn of(rank: &RankStatus) -> Self {
        let in_turn = rank.activity() == Activity::Resident;
        Progress { turns: rank.turns.get(), collectives: rank.posted.get(), in_turn }
    }

    /// Whether the rank could give up memory since `then`: it has begun a turn, or, without turns, waited in a collective from its
    /// begin to its end.
    fn could_react(self, then: Self) -> bool {
        self.turns != then.turns || !self.in_turn && self.collectives >= then.collectives + 2
    }
}

/// Whether ranks could give up memory since they were asked for it. A rank that computes can only do so when it waits.
#[derive(Debug, Default)]
pub(super) struct Reactions {
    now: Vec<Progress>,
    /// Progress when the reserve last settled.
    settled: Vec<Progress>,
    /// Progress when ranks could no longer keep values, or the number of residents was last lowered.
    lowered: Vec<Progress>,
    /// Whether ranks could keep values at the last look.
    may_keep: bool,
}

impl Reactions {
    /// Notes the progress of the ranks, and whether they may keep values while they wait.
    pub(super) fn look(&mut self, control: &Control, may_keep: bool) {
        let ranks = (0..control.num_ranks()).map(|rank| control.rank(rank));
        self.now = ranks.map(Progress::of).collect();
        if std::mem::replace(&mut self.may_keep, may_keep) && !may_keep {
            self.begin();
        }
    }

    /// Forgets what was lowered, because the ranks begin other work.
    pub(super) fn clear(&mut self) {
        self.settled.clear();
        self.lowered.clear();
        self.may_keep = false;
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

    /// Notes that ranks have to give up memory from now on.
    pub(super) fn begin(&mut self) {
        self.lowered.clone_from(&self.now);
    }

    fn since(&self, then: &[Progress]) -> bool {
        self.now.iter().zip(then).all(|(now, then)| now.could_react(*then))
    }
}
