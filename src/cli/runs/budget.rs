//! Memory budgets on this machine, which may not be the one that a run started on.

use crate::event::show_note;
use crate::platform::free_memory;
use crate::run::config::MemoryBudget;
use crate::words::size::size;

/// The memory budget that a flag gives, or else that of the run. If less memory is free, half of this replaces the run's
/// budget, and a note says so.
pub(super) fn budget_here(given: Option<MemoryBudget>, of_run: MemoryBudget) -> MemoryBudget {
    if let Some(given) = given {
        return given;
    }
    let Some(free) = free_memory().filter(|free| of_run.bytes() > *free) else {
        return of_run;
    };
    let (bytes, free) = (size(of_run.bytes()), size(free));
    show_note(&format!(
        "the run's memory budget is {bytes}, but {free} are free: half of that is used"
    ));
    MemoryBudget::default()
}
