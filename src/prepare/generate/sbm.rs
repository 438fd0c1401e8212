//! The stochastic block model.

use super::config::GeneratorConfig;
use super::draws::{Purpose, PurposeDraws, below, happens, other_than};
use super::even_cut::EvenCut;
use super::model::RandomGraph;

/// Maximum number of nodes in a community: large enough that neighbours rarely repeat at usual degrees, small enough
/// that a cut into partitions divides few communities.
const COMMUNITY: u64 = 128;

/// Fraction of pairs inside a community; the others are anywhere.
const INSIDE: f64 = 0.9;

/// Communities of consecutive ids, each of one class; every class has equally many.
#[derive(Debug)]
pub(super) struct Sbm {
    nodes: u64,
    classes: u64,
    communities: EvenCut,
    ends: PurposeDraws,
    kinship: PurposeDraws,
}

impl Sbm {
    pub(super) fn new(config: &GeneratorConfig) -> Self {
        let per_class = config.nodes.div_ceil(config.classes * COMMUNITY);
        let communities = (config.classes * per_class).min(config.nodes);
        Sbm {
            nodes: config.nodes,
            classes: config.classes,
            communities: EvenCut::new(config.nodes, communities),
            ends: PurposeDraws::new(config.seed, Purpose::Ends),
            kinship: PurposeDraws::new(config.seed, Purpose::Kinship),
        }
    }
}

impl RandomGraph for Sbm {
    fn pair(&self, index: u64) -> (u64, u64) {
        let [first, second] = self.ends.pair(index, 0);
        let u = below(first, self.nodes);
        let community = self.communities.range(self.communities.piece_of(u));
        let inside = happens(self.kinship.words(index, 0)[0], INSIDE);
        // A community of one node has no pair inside.
        let alone = community.end - community.start == 1;
        let range = if inside && !alone { community } else { 0..self.nodes };
        (u, range.start + other_than(u - range.start, second, range.end - range.start))
    }

    fn class_of_place(&self, node: u64) -> u64 {
        self.communities.piece_of(node) % self.classes
    }

    fn outliers(&self) -> f64 {
        0.1
    }

    fn signal(&self) -> f64 {
        0.85
    }
}
