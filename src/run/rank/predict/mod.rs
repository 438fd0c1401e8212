//! A rank's part of a prediction.

mod config;
mod form;
mod needed;
mod own_nodes;
mod own_prediction;
mod part;
mod relations;
mod rows;
mod scores;
mod whole;
mod work;

pub use config::{NodeSelection, PredictConfig, SplitName};
pub(in crate::run) use form::StoredForm;
pub use form::{NodeOrder, Prediction, PredictionFormat};
pub use own_nodes::ChosenNodes;
pub use part::predict;
pub(in crate::run) use rows::table_rows;
pub use work::PredictionWork;
