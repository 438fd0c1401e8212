//! What a rank does from its start to its end.

mod config;
mod rank;
mod step_dump;
mod train;

pub use config::{MemoryBudget, RunConfig};
pub use rank::{RankSetup, Surroundings};
pub use train::train;
