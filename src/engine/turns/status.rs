//! The status of each rank, written by the rank and read by the launcher (and by tests).

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use super::cells::{Cell32, Cell64, Kib};
use super::work::Work;

/// Activity of a rank with respect to turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Activity {
    /// Forked, not yet in its first turn.
    Starting = 0,
    /// In its turn: the rank may keep tensors in memory.
    Resident = 1,
    /// Between turns: memory holds at most what the rank has claimed.
    Parked = 2,
    /// Done; the process is about to end.
    Finished = 3,
    /// Between turns, with nothing in memory, until the user continues the run.
    Paused = 4,
}

/// Steps of an epoch on sampled neighbourhoods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Number of complete steps.
    pub done: u32,
    /// Number of steps of the epoch; 0 if it has no steps.
    pub of: u32,
}

/// Part of a rank's work, for messages such as "epoch 3, backward layer 1".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Reading the partition and building the graph shards.
    Loading,
    /// Forward pass of a layer (from 0).
    Forward(u32),
    /// Backward pass of a layer (from 0).
    Backward(u32),
    /// Summing gradients over the ranks and updating the parameters.
    GatherGrads,
    /// The last evaluation, and writing of results.
    Finishing,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Loading => write!(f, "loading"),
            Phase::Forward(layer) => write!(f, "forward of layer {layer}"),
            Phase::Backward(layer) => write!(f, "backward of layer {layer}"),
            Phase::GatherGrads => write!(f, "gathering gradients"),
            Phase::Finishing => write!(f, "finishing"),
        }
    }
}

/// A rank's slot in the control file.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct RankStatus {
    activity: Cell32,
    /// Epoch of the rank, from 1; 0 before the first.
    pub epoch: Cell32,
    phase: Cell32,
    layer: Cell32,
    /// Number of turns that the rank has begun, counted before [`activity`](RankStatus::activity) shows it: if a reader sees the same
    /// number twice, no turn has begun in between.
    pub turns: Cell32,
    pub(super) cached: Kib,
    pub(super) kept: Kib,
    step: Cell32,
    steps: Cell32,
    /// Process id of the rank; 0 if unknown.
    pub process: Cell32,
    /// Bytes that the rank had written and read at its last pause.
    pub moved: Cell64,
    /// Number of collectives whose messages the rank has written.
    pub posted: Cell64,
    /// Number of the rank among the ranks of all machines.
    pub number: Cell32,
    small: AtomicU32,
    unspillable: Kib,
}

impl RankStatus {
    /// Sets whether the rank holds data in memory.
    pub fn set_activity(&self, activity: Activity) {
        self.activity.set(activity as u32);
    }

    /// Whether the rank holds data in memory.
    pub fn activity(&self) -> Activity {
        match self.activity.get() {
            0 => Activity::Starting,
            1 => Activity::Resident,
            2 => Activity::Parked,
            4 => Activity::Paused,
            _ => Activity::Finished,
        }
    }

    /// Sets whether other ranks may grow notably more than this one during a kind of work.
    pub(super) fn set_small(&self, work: Work, small: bool) {
        let bit = 1 << work as u32;
        if small {
            self.small.fetch_or(bit, Ordering::SeqCst);
        } else {
            self.small.fetch_and(!bit, Ordering::SeqCst);
        }
    }

    /// Whether other ranks may grow notably more than this one during a kind of work.
    pub(super) fn is_small(&self, work: Work) -> bool {
        self.small.load(Ordering::SeqCst) & 1 << work as u32 != 0
    }

    /// Sets the steps of the epoch; both numbers are 0 outside epochs on sampled neighbourhoods.
    pub fn set_steps(&self, steps: Steps) {
        self.steps.set(steps.of);
        self.step.set(steps.done);
    }

    /// The steps of the epoch.
    pub fn steps(&self) -> Steps {
        Steps { done: self.step.get(), of: self.steps.get() }
    }

    /// Bytes of page cache that the rank's messages take, rounded down to KiB.
    pub fn cached(&self) -> u64 {
        self.cached.get()
    }

    /// Sets the bytes that the rank keeps whatever it spills, rounded up to KiB.
    pub fn set_unspillable(&self, bytes: u64) {
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX);
        self.unspillable.0.set(kib);
    }

    /// Bytes among those [kept](Self::kept) that are not of tracked values, as last measured after the rank had returned
    /// freed memory, or less.
    pub fn unspillable(&self) -> u64 {
        self.unspillable.get()
    }

    /// Bytes that this rank can give up now: what it keeps and can spill, unless it is in its turn.
    pub(super) fn can_give_up(&self) -> u64 {
        match self.activity() {
            Activity::Resident => 0,
            _ => self.kept().saturating_sub(self.unspillable()),
        }
    }

    /// Bytes that the rank keeps in memory while it waits, rounded down to KiB; during its turn, the number of its last
    /// wait.
    pub fn kept(&self) -> u64 {
        self.kept.get()
    }

    /// Sets the phase of the rank.
    pub fn set_phase(&self, phase: Phase) {
        let (code, layer) = match phase {
            Phase::Loading => (0, 0),
            Phase::Forward(layer) => (1, layer),
            Phase::Backward(layer) => (2, layer),
            Phase::GatherGrads => (3, 0),
            Phase::Finishing => (4, 0),
        };
        self.layer.set(layer);
        self.phase.set(code);
    }

    /// Phase of the rank.
    pub fn phase(&self) -> Phase {
        let layer = self.layer.get();
        match self.phase.get() {
            0 => Phase::Loading,
            1 => Phase::Forward(layer),
            2 => Phase::Backward(layer),
            3 => Phase::GatherGrads,
            _ => Phase::Finishing,
        }
    }
}
