//! Turns of ranks that train on batches.

use crate::engine::spill::PartitionDataManager;
use crate::error::Result;
use crate::sampling::loaders::Batches;

/// Does `work` with the next batch; `None` when there is none left. If batches are sampled on demand, the rank takes a turn for
/// the sampling and the work, and gives its memory back at the end; else ranks work side by side.
///
/// The rank has no turn when this is called, nor afterwards. All ranks have as many batches: turns go round.
pub(super) fn with_next_batch<T: Send + 'static, R>(
    manager: &PartitionDataManager,
    batches: &mut Batches<T>,
    work: impl FnOnce(&T) -> Result<R>,
) -> Result<Option<R>> {
    let in_turn = batches.is_on_demand() && batches.steps_left() > 0;
    if in_turn {
        manager.callback_func()?;
    }
    let result = batches.next().transpose()?.map(|batch| work(&batch)).transpose()?;
    if in_turn {
        manager.precall_func()?;
    }
    Ok(result)
}
