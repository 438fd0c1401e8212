//! The class of each node.

use super::config::GeneratorConfig;
use super::draws::{Purpose, PurposeDraws, happens, other_than};
use super::model::RandomGraph;

/// Classes as a pure function of nodes: the class of the node's place, or for outliers a random other class.
pub(super) struct Labels<'a> {
    model: &'a dyn RandomGraph,
    classes: u64,
    outlier: PurposeDraws,
}

impl<'a> Labels<'a> {
    pub(super) fn new(config: &GeneratorConfig, model: &'a dyn RandomGraph) -> Self {
        let outlier = PurposeDraws::new(config.seed, Purpose::Outlier);
        Labels { model, classes: config.classes, outlier }
    }

    pub(super) fn class(&self, node: u64) -> u64 {
        let class = self.model.class_of_place(node);
        let [random, choice] = self.outlier.pair(node, 0);
        if self.classes > 1 && happens((random >> 32) as u32, self.model.outliers()) {
            other_than(class, choice, self.classes)
        } else {
            class
        }
    }
}
