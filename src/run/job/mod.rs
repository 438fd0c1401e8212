//! Users' programs on worker processes: their own model and training loop, with the engine's memory budget.

mod launch;
mod mark;
mod rank;
mod results;
mod saved_state;

pub use launch::{Job, launch};
pub use rank::{Gathered, Rank};
pub use saved_state::{RestoredState, SavedState};
