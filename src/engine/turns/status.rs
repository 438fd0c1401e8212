//! The status of each rank, written by the rank and read by the launcher (and by tests).

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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
    activity: AtomicU32,
    epoch: AtomicU32,
    phase: AtomicU32,
    layer: AtomicU32,
    turns: AtomicU32,
    cached: AtomicU32,
    kept: AtomicU32,
    step: AtomicU32,
    steps: AtomicU32,
    process: AtomicU32,
    moved: AtomicU64,
    posted: AtomicU64,
    number: AtomicU32,
    small: AtomicU32,
    unspillable: AtomicU32,
}

impl RankStatus {
    /// Sets whether the rank holds data in memory.
    pub fn set_activity(&self, activity: Activity) {
        self.activity.store(activity as u32, Ordering::SeqCst);
    }

    /// Whether the rank holds data in memory.
    pub fn activity(&self) -> Activity {
        match self.activity.load(Ordering::SeqCst) {
            0 => Activity::Starting,
            1 => Activity::Resident,
            2 => Activity::Parked,
            4 => Activity::Paused,
            _ => Activity::Finished,
        }
    }

    /// Sets the process id of the rank.
    pub fn set_process(&self, pid: u32) {
        self.process.store(pid, Ordering::SeqCst);
    }

    /// Process id of the rank; 0 if unknown.
    pub fn process(&self) -> u32 {
        self.process.load(Ordering::SeqCst)
    }

    /// Sets the number of the rank among the ranks of all machines.
    pub fn set_number(&self, rank: u32) {
        self.number.store(rank, Ordering::SeqCst);
    }

    /// Number of the rank among the ranks of all machines.
    pub fn number(&self) -> usize {
        self.number.load(Ordering::SeqCst) as usize
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

    /// Sets the number of collectives whose messages the rank has written.
    pub fn set_posted(&self, collectives: u64) {
        self.posted.store(collectives, Ordering::SeqCst);
    }

    /// Number of collectives whose messages the rank has written.
    pub fn posted(&self) -> u64 {
        self.posted.load(Ordering::SeqCst)
    }

    /// Sets the bytes that the rank has written and read so far.
    pub fn set_moved(&self, bytes: u64) {
        self.moved.store(bytes, Ordering::SeqCst);
    }

    /// Bytes that the rank had written and read at its last pause.
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::SeqCst)
    }

    /// Sets the steps of the epoch; both numbers are 0 outside epochs on sampled neighbourhoods.
    pub fn set_steps(&self, steps: Steps) {
        self.steps.store(steps.of, Ordering::SeqCst);
        self.step.store(steps.done, Ordering::SeqCst);
    }

    /// The steps of the epoch.
    pub fn steps(&self) -> Steps {
        Steps { done: self.step.load(Ordering::SeqCst), of: self.steps.load(Ordering::SeqCst) }
    }

    /// Counts a turn; call this before [`set_activity`](RankStatus::set_activity) shows that it has begun.
    pub fn count_turn(&self) {
        self.turns.fetch_add(1, Ordering::SeqCst);
    }

    /// Number of turns that the rank has begun; if a reader sees the same number twice, no turn has begun in between.
    pub fn turns(&self) -> u32 {
        self.turns.load(Ordering::SeqCst)
    }

    pub(super) fn set_cached_kib(&self, kib: u32) {
        self.cached.store(kib, Ordering::SeqCst);
    }

    pub(super) fn cached_kib(&self) -> u32 {
        self.cached.load(Ordering::SeqCst)
    }

    /// Bytes of page cache that the rank's messages take, rounded down to KiB.
    pub fn cached(&self) -> u64 {
        u64::from(self.cached_kib()) << 10
    }

    /// Sets the bytes that the rank keeps whatever it spills, rounded up to KiB.
    pub fn set_unspillable(&self, bytes: u64) {
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX);
        self.unspillable.store(kib, Ordering::SeqCst);
    }

    /// Bytes among those [kept](Self::kept) that are not of tracked values, as last measured after the rank had returned
    /// freed memory, or less.
    pub fn unspillable(&self) -> u64 {
        u64::from(self.unspillable.load(Ordering::SeqCst)) << 10
    }

    /// Bytes that this rank can give up now: what it keeps and can spill, unless it is in its turn.
    pub(super) fn can_give_up(&self) -> u64 {
        match self.activity() {
            Activity::Resident => 0,
            _ => self.kept().saturating_sub(self.unspillable()),
        }
    }

    pub(super) fn set_kept_kib(&self, kib: u32) {
        self.kept.store(kib, Ordering::SeqCst);
    }

    pub(super) fn kept_kib(&self) -> u32 {
        self.kept.load(Ordering::SeqCst)
    }

    /// Bytes that the rank keeps in memory while it waits, rounded down to KiB; during its turn, the number of its last
    /// wait.
    pub fn kept(&self) -> u64 {
        u64::from(self.kept_kib()) << 10
    }

    /// Sets the epoch of the rank, from 1; 0 before the first.
    pub fn set_epoch(&self, epoch: u32) {
        self.epoch.store(epoch, Ordering::SeqCst);
    }

    /// Epoch of the rank.
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::SeqCst)
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
        self.layer.store(layer, Ordering::SeqCst);
        self.phase.store(code, Ordering::SeqCst);
    }

    /// Phase of the rank.
    pub fn phase(&self) -> Phase {
        let layer = self.layer.load(Ordering::SeqCst);
        match self.phase.load(Ordering::SeqCst) {
            0 => Phase::Loading,
            1 => Phase::Forward(layer),
            2 => Phase::Backward(layer),
            3 => Phase::GatherGrads,
            _ => Phase::Finishing,
        }
    }
}
