//! Runs that need more memory than their budget.

use super::limits::Limits;
use super::memory::{MemoryUsage, WorkerUsage};
use crate::engine::turns::{Activity, Control, Work};
use crate::words::error::{Error, ErrorKind};
use crate::words::size::size;

/// Fraction (1 / n) of the budget by which a run may exceed it without being ended, because the memory of the same run
/// differs from time to time.
const TOLERATED: u64 = 32;

/// Whether a run that has taken `peak` bytes has exceeded its budget.
pub(crate) fn exceeds(budget: u64, peak: u64) -> bool {
    budget > 0 && peak > budget + budget / TOLERATED
}

/// The error of a run that takes this memory although waiting workers keep nothing.
pub(super) fn over_budget(limits: &Limits, usage: MemoryUsage, control: &Control) -> Error {
    let WorkerUsage { slot, bytes } = usage.largest;
    // Each process counts its part of the memory that it shares with the others.
    let uncounted = limits.uncounted / (control.num_ranks() as u64 + 1);
    let status = control.rank(slot);
    let problem = format!(
        "this run needs at least {}, even if waiting workers keep nothing; the memory budget is {}; rank {} takes the most, {}, in {}",
        size((usage.sum + usage.passed).saturating_sub(limits.uncounted)),
        size(limits.budget - limits.uncounted),
        status.number.get(),
        size(bytes.saturating_sub(uncounted)),
        status.phase()
    );
    // Workers that draw ahead compute their steps between turns.
    let side_by_side = status.activity() == Activity::Parked && status.steps().of > 0;
    let hint = match control.work() {
        _ if side_by_side => {
            "leave out ‹sampling.sampler_threads›, so that workers take turns, raise ‹memory_budget›, or make batches smaller"
        }
        Work::Training | Work::SampledEvaluation | Work::Propagation => {
            "raise ‹memory_budget›, lower ‹resident›, make hidden layers narrower or batches smaller, or cut the graph into more partitions"
        }
        Work::Evaluation => {
            "the evaluation is on the full graph: raise ‹memory_budget› (a run with ‹checkpoint_every› continues from its last checkpoint), lower ‹resident›, make hidden layers narrower, or cut the graph into more partitions"
        }
    };
    Error::new(ErrorKind::OutOfMemory, problem).with_hint(hint)
}
