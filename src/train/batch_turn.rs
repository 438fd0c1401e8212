//! Turns of ranks during training on batches.

use crate::engine::spill::PartitionDataManager;
use crate::engine::turns::Steps;
use crate::event::{SpanKind, span};
use crate::sampling::loaders::Batches;
use crate::words::error::Result;

/// Calls `work` with the next batch; returns `None` if there is none. If batches are sampled on demand, the rank takes
/// a turn for sampling and work, and returns its memory afterwards; otherwise ranks work in parallel.
///
/// The rank must not have the turn before this call, and does not have it afterwards. All ranks must have the same
/// number of batches.
pub(super) fn with_next_batch<T: Send + 'static, R>(
    manager: &PartitionDataManager,
    batches: &mut Batches<T>,
    work: impl FnOnce(&T) -> Result<R>,
) -> Result<Option<R>> {
    let in_turn = batches.is_on_demand() && batches.steps_left() > 0;
    let (left, of) = (batches.steps_left(), batches.steps());
    if left > 0 {
        let done = (of - left) as u32;
        manager.lock().status().set_steps(Steps { done, of: of as u32 });
        if !in_turn {
            manager.pause_if_asked()?;
            manager.give_way()?;
        }
    } else {
        manager.lock().status().set_steps(Steps { done: 0, of: 0 });
    }
    if in_turn {
        manager.callback_func()?;
        manager.lock().number_turns();
    }
    let result = match next_batch(batches)? {
        Some(batch) => {
            let _span = span(SpanKind::Operation, "batch");
            Some(work(&batch)?)
        }
        None => None,
    };
    if in_turn {
        manager.precall_func()?;
    }
    Ok(result)
}

fn next_batch<T: Send + 'static>(batches: &mut Batches<T>) -> Result<Option<T>> {
    let _span = if batches.is_on_demand() {
        span(SpanKind::Operation, "sample a batch")
    } else {
        span(SpanKind::Wait, "wait for a batch")
    };
    batches.next().transpose()
}
