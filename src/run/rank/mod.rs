//! The work of a rank from its start to its end.

mod classes;
mod hetero_graph;
mod labels;
mod link;
mod mfg;
mod predict;
mod sampled;
mod setup;
mod step_dump;
mod train;
mod usage;
mod whole_graph;

pub(crate) use classes::USUAL_CLASSES;
pub use predict::{ArrayFormat, NodeOrder, PredictConfig, Prediction, predict};
pub use setup::{Passes, RankSetup, Surroundings};
pub use train::{
    CHECKPOINT, PREVIOUS_CHECKPOINT, WEIGHTS, pending_checkpoint, pending_weights, train,
};
pub use usage::measured;
