//! Random choices that a seed reproduces.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// 1 in half of all cases, 2 in a quarter, and so on.
    pub(crate) fn rounds(&mut self) -> u32 {
        1 + (self.number() as u32 | 1 << 7).trailing_zeros()
    }

    /// A short length, or now and then a long one.
    pub(crate) fn length(&mut self) -> usize {
        let longest = *self.pick(&[1, 2, 4, 8, 8, 16, 64, 512]);
        1 + self.below(longest)
    }
}
