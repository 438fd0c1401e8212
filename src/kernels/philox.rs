//! Random numbers as a pure function of a counter and a key: no state is stored, and neither threads nor the order of
//! calls matter.

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): 128 random bits.
#[inline]
pub(crate) fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xD251_1F53;
        let b = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// Number of generators side by side.
pub(super) const LANES: usize = 16;

/// Draws for [`LANES`] counters, whose first words are `first`, `first + 1`, ...: all first words of the results, then
/// all second words, and so on. Same numbers as [`philox4x32`], in vectorised form.
#[inline(always)]
pub(super) fn philox_lanes(first: u32, rest: [u32; 3], mut key: [u32; 2]) -> [[u32; LANES]; 4] {
    let mut words = [[0; LANES], [rest[0]; LANES], [rest[1]; LANES], [rest[2]; LANES]];
    for (lane, word) in words[0].iter_mut().enumerate() {
        *word = first.wrapping_add(lane as u32);
    }
    for _ in 0..10 {
        let mut next = [[0; LANES]; 4];
        for lane in 0..LANES {
            let a = u64::from(words[0][lane]) * 0xD251_1F53;
            let b = u64::from(words[2][lane]) * 0xCD9E_8D57;
            next[0][lane] = (b >> 32) as u32 ^ words[1][lane] ^ key[0];
            next[1][lane] = b as u32;
            next[2][lane] = (a >> 32) as u32 ^ words[3][lane] ^ key[1];
            next[3][lane] = a as u32;
        }
        words = next;
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_the_same_generator() {
        let lanes = philox_lanes(40, [1, 2, 3], [4, 5]);
        for lane in 0..LANES {
            let one = philox4x32([40 + lane as u32, 1, 2, 3], [4, 5]);
            assert_eq!(lanes.map(|word| word[lane]), one);
        }
    }

    /// Known answers from the authors' library (Random123, kat_vectors).
    #[test]
    fn philox_gives_the_known_answers() {
        let ones = u32::MAX;
        assert_eq!(
            philox4x32([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32([ones; 4], [ones; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
