//! Random numbers of a graph: each is a pure function of the seed, its purpose, and an index.

use crate::kernels::philox4x32;

/// The purpose of random numbers; numbers for different purposes are independent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// The ends of a pair of nodes.
    Ends,
    /// Whether the ends of a pair share a community or class.
    Kinship,
    /// The class of a place.
    Class,
    /// The nodes whose class differs from their surroundings.
    Outlier,
    /// The mean of a class's features.
    Mean,
    /// The noise that is added to the mean of features.
    Noise,
    /// The order of R-MAT's nodes.
    Scramble,
    /// The division into training, validation and test nodes.
    Split,
}

/// Random numbers for one purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct PurposeDraws {
    key: [u32; 2],
    purpose: u32,
}

impl PurposeDraws {
    pub(super) fn new(seed: u64, purpose: Purpose) -> Self {
        PurposeDraws { key: [seed as u32, (seed >> 32) as u32], purpose: purpose as u32 }
    }

    /// 128 random bits for an index; `step` distinguishes several draws for it.
    #[inline]
    pub(super) fn words(&self, index: u64, step: u32) -> [u32; 4] {
        philox4x32([index as u32, (index >> 32) as u32, step, self.purpose], self.key)
    }

    /// The random bits for an index as two numbers.
    pub(super) fn pair(&self, index: u64, step: u32) -> [u64; 2] {
        let [a, b, c, d] = self.words(index, step).map(u64::from);
        [a << 32 | b, c << 32 | d]
    }
}

/// Maps a random number to a uniform number below `limit`.
pub(super) fn below(random: u64, limit: u64) -> u64 {
    ((u128::from(random) * u128::from(limit)) >> 64) as u64
}

/// Maps a random number to true with the given probability.
pub(super) fn happens(random: u32, probability: f64) -> bool {
    f64::from(random) < probability * 2f64.powi(32)
}

/// Maps a random number to a uniform number of `0..limit` other than `one`. `limit` is at least 2.
pub(super) fn other_than(one: u64, random: u64, limit: u64) -> u64 {
    let other = below(random, limit - 1);
    other + u64::from(other >= one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_number_occurs_and_the_one_does_not() {
        let draws = PurposeDraws::new(7, Purpose::Ends);
        let mut seen = [0; 5];
        for index in 0..400 {
            seen[other_than(3, draws.pair(index, 0)[0], 5) as usize] += 1;
        }
        assert_eq!(seen[3], 0);
        assert!(seen.iter().filter(|count| **count > 60).count() == 4, "{seen:?}");
    }
}
