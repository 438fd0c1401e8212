//! The split into training, validation and test nodes.

use super::bijection::Bijection;
use super::config::GeneratorConfig;
use super::draws::Purpose;
use crate::prepare::import::SplitShares;

/// Part of a node below which a product of a share and a number of nodes is rounding.
const ROUNDING: f64 = 1e-6;

/// A random split of the nodes by shares, as exactly as whole nodes allow, for any seed.
#[derive(Debug)]
pub(super) struct Split {
    order: Bijection,
    /// The ends of training, validation and test nodes in this order.
    ends: [u64; 3],
}

impl Split {
    pub(super) fn new(config: &GeneratorConfig) -> Self {
        let SplitShares { train, val, test } = config.split;
        let end = |share: f64| (config.nodes as f64 * share + ROUNDING) as u64;
        Split {
            order: Bijection::new(config.nodes, config.seed, Purpose::Split),
            ends: [end(train), end(train + val), end(train + val + test).min(config.nodes)],
        }
    }

    /// The number of the part that a node belongs to, if it belongs to one.
    pub(super) fn part(&self, node: u64) -> Option<usize> {
        let place = self.order.apply(node);
        self.ends.iter().position(|end| place < *end)
    }
}
