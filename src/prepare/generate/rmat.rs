//! The R-MAT model of graphs with skewed degrees.

use super::bijection::Bijection;
use super::config::GeneratorConfig;
use super::draws::{Purpose, PurposeDraws, below, happens};
use super::model::RandomGraph;

/// Fraction of the pairs whose second end is moved to the class of the first.
const KIN: f64 = 0.85;

/// Graph500's cumulative probabilities of the upper left, upper right and lower left quadrants; 0.05 remains for the
/// last one.
const QUADRANTS: [f64; 3] = [0.57, 0.76, 0.95];

/// Number of draws for one attempt at a pair; each serves four levels.
const STEPS: u32 = 16;

/// Graph500's R-MAT: a pair is a cell of the adjacency matrix, found by repeatedly choosing one of four quadrants. Ids
/// are then scrambled.
#[derive(Debug)]
pub(super) struct Rmat {
    nodes: u64,
    classes: u64,
    levels: u32,
    scramble: Bijection,
    ends: PurposeDraws,
    kinship: PurposeDraws,
    classing: PurposeDraws,
}

impl Rmat {
    pub(super) fn new(config: &GeneratorConfig) -> Self {
        let draws = |purpose| PurposeDraws::new(config.seed, purpose);
        Rmat {
            nodes: config.nodes,
            classes: config.classes,
            levels: config.nodes.next_power_of_two().ilog2(),
            scramble: Bijection::new(config.nodes, config.seed, Purpose::Scramble),
            ends: draws(Purpose::Ends),
            kinship: draws(Purpose::Kinship),
            classing: draws(Purpose::Class),
        }
    }

    /// A cell of the matrix, whose side is the next power of two.
    fn cell(&self, index: u64, attempt: u32) -> (u64, u64) {
        let (mut row, mut column) = (0, 0);
        for level in (0..self.levels).step_by(4) {
            let words = self.ends.words(index, attempt * STEPS + level / 4);
            for word in &words[..(self.levels - level).min(4) as usize] {
                let [right, low, last] = QUADRANTS.map(|bound| !happens(*word, bound));
                row = row << 1 | u64::from(low);
                column = column << 1 | u64::from(right && !low || last);
            }
        }
        (row, column)
    }

    /// Class of an id before scrambling. Each block of consecutive ids contains each class once, in a different order.
    /// With the same order everywhere, a node's degree, which depends on the bits of its id, would reveal its class.
    fn class(&self, id: u64) -> u64 {
        let (block, at) = (id / self.classes, id % self.classes);
        (at + self.turn(block)) % self.classes
    }

    /// The id with a class in the block of `id`, if the block has one: the last block may be short.
    fn of_class(&self, class: u64, id: u64) -> Option<u64> {
        let block = id / self.classes;
        let at = (class + self.classes - self.turn(block)) % self.classes;
        Some(block * self.classes + at).filter(|id| *id < self.nodes)
    }

    fn turn(&self, block: u64) -> u64 {
        below(self.classing.pair(block, 0)[0], self.classes)
    }
}

impl RandomGraph for Rmat {
    fn pair(&self, index: u64) -> (u64, u64) {
        let mut attempt = 0;
        loop {
            let (u, v) = self.cell(index, attempt);
            // Drawn for each attempt: in a separate block without kin, the search for kin would never end.
            let kin = happens(self.kinship.words(index, attempt)[0], KIN);
            attempt += 1;
            if u >= self.nodes || v >= self.nodes {
                continue;
            }
            let v = if kin { self.of_class(self.class(u), v).unwrap_or(v) } else { v };
            if u != v {
                return (self.scramble.apply(u), self.scramble.apply(v));
            }
        }
    }

    fn class_of_place(&self, node: u64) -> u64 {
        self.class(self.scramble.invert(node))
    }

    fn outliers(&self) -> f64 {
        0.04
    }

    fn signal(&self) -> f64 {
        1.0
    }
}
