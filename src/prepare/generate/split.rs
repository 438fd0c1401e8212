//! The split into training, validation and test nodes.

use super::bijection::Bijection;
use super::config::GeneratorConfig;
use super::draws::Purpose;
use crate::prepare::import::SplitShares;

/// The role of a node in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SplitRole {
    Train,
    Validation,
    Test,
}

/// Part of a node below which a product of a share and a number of nodes is rounding.
const ROUNDING: f64 = 1e-6;

/// A random split of the nodes by shares, as exactly as whole nodes allow, for any seed.
#[derive(Debug)]
pub(super) struct Split {
    order: Bijection,
    train_end: u64,
    validation_end: u64,
    test_end: u64,
}

impl Split {
    pub(super) fn new(config: &GeneratorConfig) -> Self {
        let SplitShares { train, val, test } = config.split;
        let end = |share: f64| (config.nodes as f64 * share + ROUNDING) as u64;
        Split {
            order: Bijection::new(config.nodes, config.seed, Purpose::Split),
            train_end: end(train),
            validation_end: end(train + val),
            test_end: end(train + val + test).min(config.nodes),
        }
    }

    /// The role of a node, if it has one.
    pub(super) fn role(&self, node: u64) -> Option<SplitRole> {
        let rank = self.order.apply(node);
        match rank {
            _ if rank < self.train_end => Some(SplitRole::Train),
            _ if rank < self.validation_end => Some(SplitRole::Validation),
            _ if rank < self.test_end => Some(SplitRole::Test),
            _ => None,
        }
    }
}
