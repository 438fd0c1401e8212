//! What a rank does from its start to its end.

mod budget;
mod config;
mod labelled;
mod labels;
mod link;
mod predict;
mod rank;
mod sampled;
mod step_dump;
mod train;

pub use budget::MemoryBudget;
pub use config::{RunConfig, default_spill_dir};
pub use link::{LinkConfig, PairScore};
pub use predict::{ArrayFormat, NodeOrder, PredictConfig, Prediction, predict};
pub use rank::{RankSetup, Surroundings};
pub use train::{CHECKPOINT, WEIGHTS, pending_checkpoint, train};
