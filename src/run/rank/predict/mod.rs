//! A rank's part of a prediction.

mod chosen_nodes;
mod config;
mod correction;
mod edge_ranks;
mod form;
mod held_edges;
mod links;
mod needed;
mod outputs;
mod own_prediction;
mod pairs;
mod part;
mod partners;
mod relations;
mod rows;
mod scored_by;
mod scores;
mod shared_file;
mod shared_rows;
mod whole;
mod work;

pub use chosen_nodes::ChosenNodes;
pub use config::{LinkQuery, NodeSelection, PredictConfig, SplitName};
pub(in crate::run) use edge_ranks::{RANKED_EDGE_BYTES, RankedEdge};
pub(in crate::run) use form::StoredForm;
pub use form::{NodeOrder, Prediction, PredictionFormat};
pub(in crate::run) use pairs::pair_form;
pub use part::predict;
pub(in crate::run) use partners::{PARTNER_BYTES, Partner};
pub(in crate::run) use rows::table_rows;
pub use work::{LinkQuestion, PredictionWork};
