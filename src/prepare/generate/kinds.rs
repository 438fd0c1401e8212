//! The kinds of random graphs.

use super::config::{GeneratorConfig, GraphKind};
use super::model::RandomGraph;
use super::rmat::Rmat;
use super::sbm::Sbm;

/// The graph that a configuration describes.
pub(super) fn graph_model(config: &GeneratorConfig) -> Box<dyn RandomGraph> {
    match config.kind {
        GraphKind::Sbm => Box::new(Sbm::new(config)),
        GraphKind::Rmat => Box::new(Rmat::new(config)),
    }
}
