//! A rank's part of a prediction.

mod config;
mod form;
mod needed;
mod own_nodes;
mod part;
mod relations;
mod rows;
mod scores;
mod whole;

pub use config::{NodeSelection, PredictConfig, Split};
pub(in crate::run) use form::StoredForm;
pub use form::{NodeOrder, Prediction, PredictionFormat};
pub use own_nodes::ChosenNodes;
pub use part::{PredictionWork, predict};
pub(in crate::run) use rows::table_rows;
