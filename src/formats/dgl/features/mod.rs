//! Features of nodes and edges.

pub mod feature;
pub mod feature_set;
