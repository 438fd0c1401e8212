//! A rank's work from start to end.

mod assignment;
mod batch_inputs;
mod batches;
mod by_mode;
mod classes;
mod edge_sources;
mod epochs;
mod files;
mod hetero_graph;
mod labelled;
mod labelled_rows;
mod labels;
mod learned_row_order;
mod link_training;
mod mfg;
mod node_model;
mod node_training;
mod predict;
mod rank_graph;
mod relation_layers;
mod saving;
mod setup;
mod shared_layers;
mod step_dump;
mod stored_features;
mod usage;
mod whole_graph;

pub use by_mode::train;
pub(crate) use classes::USUAL_CLASSES;
pub(in crate::run) use edge_sources::set_edge_sources;
pub use files::{CHECKPOINT, PREVIOUS_CHECKPOINT, WEIGHTS, pending_checkpoint, pending_weights};
pub use predict::{
    ChosenNodes, LinkQuery, LinkQuestion, NodeOrder, NodeSelection, PredictConfig, Prediction,
    PredictionFormat, PredictionWork, SplitName, predict,
};
pub(in crate::run) use predict::{
    PARTNER_BYTES, Partner, RANKED_EDGE_BYTES, RankedEdge, StoredForm, pair_form, table_rows,
};
pub use setup::{Passes, RankSetup, Surroundings};
pub use usage::measured;
