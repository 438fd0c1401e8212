//! The split into training, validation and test nodes.

use super::bijection::Bijection;
use super::config::GeneratorConfig;
use super::draws::Purpose;

/// The role of a node in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SplitRole {
    Train,
    Validation,
    Test,
}

/// A random split of the nodes: 60 % for training, 20 % for validation, 20 % for test, as exactly as whole nodes allow,
/// for any seed.
#[derive(Debug)]
pub(super) struct Split {
    order: Bijection,
    train_end: u64,
    validation_end: u64,
}

impl Split {
    pub(super) fn new(config: &GeneratorConfig) -> Self {
        Split {
            order: Bijection::new(config.nodes, config.seed, Purpose::Split),
            train_end: config.nodes * 3 / 5,
            validation_end: config.nodes * 4 / 5,
        }
    }

    /// The role of a node.
    pub(super) fn role(&self, node: u64) -> SplitRole {
        let rank = self.order.apply(node);
        if rank < self.train_end {
            SplitRole::Train
        } else if rank < self.validation_end {
            SplitRole::Validation
        } else {
            SplitRole::Test
        }
    }
}
