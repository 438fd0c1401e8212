//! NumPy's legacy generator, for results that must equal DGL's to the last id.

const N: usize = 624;
const M: usize = 397;

/// MT19937 (Matsumoto and Nishimura 1998), seeded as `numpy.random.seed` does with an integer.
pub(super) struct Mt19937 {
    state: [u32; N],
    next: usize,
}

impl Mt19937 {
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [seed; N];
        for i in 1..N {
            let before = state[i - 1];
            state[i] = (before ^ before >> 30).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Mt19937 { state, next: N }
    }

    fn next(&mut self) -> u32 {
        if self.next == N {
            for i in 0..N {
                let joined = self.state[i] & 1 << 31 | self.state[(i + 1) % N] & !(1 << 31);
                let odd = if joined & 1 == 1 { 0x9908_B0DF } else { 0 };
                self.state[i] = self.state[(i + M) % N] ^ joined >> 1 ^ odd;
            }
            self.next = 0;
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9D2C_5680;
        y ^= y << 15 & 0xEFC6_0000;
        y ^ y >> 18
    }

    /// `numpy.random.permutation(len)`.
    pub(super) fn permutation(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..len).collect();
        for last in (1..len).rev() {
            let mask = (last as u32).next_power_of_two().wrapping_mul(2).wrapping_sub(1);
            let mask = if (last as u32).is_power_of_two() { mask } else { mask >> 1 };
            let place = loop {
                let value = (self.next() & mask) as usize;
                if value <= last {
                    break value;
                }
            };
            order.swap(last, place);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_implementations_first_numbers() {
        // init_genrand(5489), the default seed of the authors' code.
        let mut generator = Mt19937::new(5489);
        assert_eq!([generator.next(), generator.next()], [3_499_211_612, 581_869_302]);
    }

    #[test]
    fn numpys_permutation() {
        // numpy.random.seed(0); numpy.random.permutation(10)
        assert_eq!(Mt19937::new(0).permutation(10), [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]);
    }
}
