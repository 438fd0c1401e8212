//! Memory budgets on this machine, which may not be the one that a run started on.

use crate::event::{show_note, size};
use crate::platform::free_memory;
use crate::run::config::MemoryBudget;

/// The memory budget that a flag gives, or else that of the run. A note is shown if less memory is free; half of this then
/// replaces the run's budget.
pub(super) fn budget_here(given: Option<MemoryBudget>, of_run: MemoryBudget) -> MemoryBudget {
    let budget = given.unwrap_or(of_run);
    let Some(free) = free_memory().filter(|free| budget.bytes() > *free) else {
        return budget;
    };
    let (bytes, free) = (size(budget.bytes()), size(free));
    if given.is_some() {
        show_note(&format!("the memory budget is {bytes}, but {free} are free"));
        return budget;
    }
    show_note(&format!(
        "the run's memory budget is {bytes}, but {free} are free: half of that is used"
    ));
    MemoryBudget::default()
}
