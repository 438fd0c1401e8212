//! Worker processes: fork, supervision, budget.

mod assumed_growth;
mod governor;
mod limits;
mod listeners;
mod memory;
mod out_of_memory;
mod over_budget;
mod progress_meter;
mod reactions;
mod record;
mod stall;
mod supervise;
mod worker;

pub use assumed_growth::{AssumedGrowth, TurnGrowth};
pub use limits::{LeastMemory, Limits, RESIDENT};
pub(crate) use over_budget::exceeds;
pub use record::EventRecord;
pub use supervise::{Fork, Supervision, fork_plainly, supervise};
