//! Random numbers for one node's edges.

use crate::kernels::philox4x32;

/// Key of a sample. The sample is a function of this key, the graph and the node; threads and the order of reads do not
/// matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleKey {
    /// The run's seed.
    pub seed: u64,
    /// The epoch.
    pub epoch: u32,
    /// The batch, counted over all ranks.
    pub batch: u32,
    /// The layer for which the edges are drawn.
    pub layer: u32,
}

/// A sequence of random numbers that is a pure function of (seed, epoch, batch, layer, edge type, node).
pub(crate) struct Draws {
    counter: [u32; 4],
    key: [u32; 2],
    block: [u32; 4],
    used: usize,
}

impl Draws {
    /// Layer (8 bits) and edge type (24 bits) share a word of the counter; the block number has one of its own. The epoch is mixed into
    /// the key.
    pub(crate) fn new(key: SampleKey, etype: u32, node: u64) -> Self {
        let place = key.layer << 24 ^ etype;
        Draws {
            counter: [0, place, node as u32, key.batch],
            key: [key.seed as u32, (key.seed >> 32) as u32 ^ key.epoch],
            block: [0; 4],
            used: 4,
        }
    }

    /// Returns 32 random bits.
    pub(super) fn next(&mut self) -> u32 {
        if self.used == 4 {
            self.block = philox4x32(self.counter, self.key);
            self.counter[0] += 1;
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// A uniform number below `bound`, which is not 0 (Lemire 2019).
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        loop {
            let product = u64::from(self.next()) * u64::from(bound);
            // The remainder, which is slow to compute, is less than the bound.
            let low = product as u32;
            if low >= bound || low >= bound.wrapping_neg() % bound {
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

/// Adds `count <= bound` different numbers below `bound` to an empty list; all sets have the same probability (Floyd
/// 1987).
pub(super) fn without_replacement(
    bound: u32,
    count: u32,
    draws: &mut Draws,
    chosen: &mut Vec<u32>,
) {
    for last in bound - count..bound {
        let number = draws.below(last + 1);
        let seen = chosen.contains(&number);
        chosen.push(if seen { last } else { number });
    }
}

/// Layer number reserved for the order of seeds.
const ORDER: u32 = 255;
/// Layer number reserved for negative pairs.
pub(crate) const NEGATIVES: u32 = 254;

/// A uniform random permutation of `0..len`; a pure function of (seed, epoch, rank).
pub(crate) fn permutation(len: usize, seed: u64, epoch: u32, rank: u32) -> Vec<u32> {
    let key = SampleKey { seed, epoch, batch: rank, layer: ORDER };
    let mut draws = Draws::new(key, 0, 0);
    let mut order: Vec<u32> = (0..len as u32).collect();
    for last in (1..len).rev() {
        order.swap(last, draws.below(last as u32 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_an_order_of_its_own() {
        assert_ne!(permutation(50, 1, 1, 0), permutation(50, 1, 1, 1));
    }
}
