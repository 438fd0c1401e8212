//! What a rank does from its start to its end.

mod budget;
mod classes;
mod config;
mod hetero_graph;
mod labels;
mod link;
mod mfg;
mod old_config;
mod on_nan;
mod predict;
mod rank;
mod sampled;
mod step_dump;
mod train;
mod usage;
mod weights_config;
mod whole_graph;

pub use budget::MemoryBudget;
pub(crate) use classes::USUAL_CLASSES;
pub use config::{Relations, RunConfig, default_spill_dir};
pub use link::{LinkConfig, PairScore};
pub use on_nan::OnNan;
pub use predict::{ArrayFormat, NodeOrder, PredictConfig, Prediction, predict};
pub use rank::{RankSetup, Surroundings};
pub use train::{
    CHECKPOINT, PREVIOUS_CHECKPOINT, WEIGHTS, pending_checkpoint, pending_weights, train,
};
pub use usage::measured;
