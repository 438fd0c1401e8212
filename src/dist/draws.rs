//! Random numbers for one node's edges.

use super::sample::SampleKey;
use crate::kernels::philox4x32;

/// A sequence that is a pure function of (seed, epoch, batch, layer, edge type, node).
pub(super) struct Draws {
    counter: [u32; 4],
    key: [u32; 2],
    block: [u32; 4],
    used: usize,
}

impl Draws {
    /// `node` and the batch take 32 bits each; layer and edge type 16 together with a block number beside the epoch.
    pub(super) fn new(key: SampleKey, etype: u32, node: u64) -> Self {
        let place = key.layer << 24 ^ etype;
        Draws {
            counter: [0, place, node as u32, key.batch],
            key: [key.seed as u32, (key.seed >> 32) as u32 ^ key.epoch],
            block: [0; 4],
            used: 4,
        }
    }

    /// 32 random bits.
    pub(super) fn next(&mut self) -> u32 {
        if self.used == 4 {
            self.block = philox4x32(self.counter, self.key);
            self.counter[0] += 1;
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// A number below `bound`, which is not 0, each with the same probability (Lemire 2019).
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let unfair = bound.wrapping_neg() % bound;
        loop {
            let product = u64::from(self.next()) * u64::from(bound);
            if product as u32 >= unfair {
                return (product >> 32) as u32;
            }
        }
    }

    /// A double in [0, 1) with 53 random bits.
    pub(super) fn unit(&mut self) -> f64 {
        let bits = u64::from(self.next()) << 32 | u64::from(self.next());
        (bits >> 11) as f64 * 2f64.powi(-53)
    }

    /// A double in (0, 1].
    pub(super) fn unit_above_zero(&mut self) -> f64 {
        1.0 - self.unit()
    }
}

/// `count` different numbers below `bound`, each such set with the same probability (Floyd 1987). `count` is not above
/// `bound`.
pub(super) fn without_replacement(bound: u32, count: u32, draws: &mut Draws) -> Vec<u32> {
    let mut chosen: Vec<u32> = Vec::with_capacity(count as usize);
    for last in bound - count..bound {
        let number = draws.below(last + 1);
        let seen = chosen.contains(&number);
        chosen.push(if seen { last } else { number });
    }
    chosen
}
