//! A seeded permutation of any number of ids that takes no memory.

use super::draws::{Purpose, PurposeDraws, below};

/// Number of half rounds; four look random to the eye, eight leave no pattern that a model could learn.
const HALF_ROUNDS: usize = 8;

/// A bijection of `0..len`: a Feistel network over pairs of digits, repeated while the result is out of range (cycle walking).
///
/// The digits count to a and b with a * b just above `len`, so repetitions are rare.
#[derive(Clone, Debug)]
pub(super) struct Bijection {
    len: u64,
    high: u64,
    low: u64,
    keys: [u64; HALF_ROUNDS],
}

impl Bijection {
    /// A bijection of `0..len`, for `len` above 0.
    pub(super) fn new(len: u64, seed: u64, purpose: Purpose) -> Self {
        let draws = PurposeDraws::new(seed, purpose);
        let root = len.isqrt();
        let high = root + u64::from(root * root < len);
        let keys = std::array::from_fn(|round| draws.pair(round as u64, 0)[0]);
        Bijection { len, high, low: len.div_ceil(high), keys }
    }

    /// The place of an id.
    pub(super) fn apply(&self, id: u64) -> u64 {
        let mut at = self.forward(id);
        while at >= self.len {
            at = self.forward(at);
        }
        at
    }

    /// The id at a place.
    pub(super) fn invert(&self, place: u64) -> u64 {
        let mut at = self.backward(place);
        while at >= self.len {
            at = self.backward(at);
        }
        at
    }

    fn forward(&self, id: u64) -> u64 {
        let (mut high, mut low) = (id / self.low, id % self.low);
        for keys in self.keys.as_chunks::<2>().0 {
            high = add(high, below(mix(low ^ keys[0]), self.high), self.high);
            low = add(low, below(mix(high ^ keys[1]), self.low), self.low);
        }
        high * self.low + low
    }

    fn backward(&self, place: u64) -> u64 {
        let (mut high, mut low) = (place / self.low, place % self.low);
        for keys in self.keys.as_chunks::<2>().0.iter().rev() {
            low = subtract(low, below(mix(high ^ keys[1]), self.low), self.low);
            high = subtract(high, below(mix(low ^ keys[0]), self.high), self.high);
        }
        high * self.low + low
    }
}

/// `a + b` modulo `limit`, for both below it.
fn add(a: u64, b: u64, limit: u64) -> u64 {
    if a < limit - b { a + b } else { a - (limit - b) }
}

/// `a - b` modulo `limit`, for both below it.
fn subtract(a: u64, b: u64, limit: u64) -> u64 {
    if a >= b { a - b } else { a + (limit - b) }
}

/// SplitMix64's finaliser.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_is_taken_once_and_leads_back(len in 1u64..2000, seed: u64) {
            let order = Bijection::new(len, seed, Purpose::Scramble);
            let mut taken = vec![false; len as usize];
            for id in 0..len {
                let place = order.apply(id);
                prop_assert!(place < len && !taken[place as usize]);
                taken[place as usize] = true;
                prop_assert_eq!(order.invert(place), id);
            }
        }

        #[test]
        fn large_ids_lead_back(len in 1u64 << 33..1 << 60, id: u64, seed: u64) {
            let order = Bijection::new(len, seed, Purpose::Scramble);
            prop_assert_eq!(order.invert(order.apply(id % len)), id % len);
        }
    }

    #[test]
    fn neighbours_are_torn_apart() {
        let order = Bijection::new(1_000_003, 1, Purpose::Scramble);
        let distance: u64 = (0..1000).map(|id| order.apply(id).abs_diff(order.apply(id + 1))).sum();
        // Two random places of n are n/3 apart on average.
        assert!((300_000..370_000).contains(&(distance / 1000)), "{distance}");
    }
}
