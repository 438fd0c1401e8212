//! Dropout whose mask is a pure function of (seed, epoch, layer, node, column): it needs no storage, and it does not
//! depend on threads, memory budget or the order in which ranks run.

use rayon::prelude::*;

use super::real::Real;

/// What identifies one application of dropout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropoutKey {
    /// The run's seed.
    pub seed: u64,
    /// The epoch (or step).
    pub epoch: u32,
    /// The layer, or any other number that tells the applications of one forward pass apart.
    pub layer: u32,
}

/// `y = x * m / (1 - probability)`, where m is 0 with `probability` and else 1, drawn for each (node, column).
///
/// Rows of `x` and `y` have `width` elements; row i belongs to the node with global id `first_node + i`. The adjoint is
/// the same function, applied to the gradient.
pub fn dropout<T: Real>(
    key: DropoutKey,
    probability: f64,
    (first_node, width): (u64, usize),
    x: &[T],
    y: &mut [T],
) {
    assert_eq!(x.len(), y.len());
    if width == 0 {
        return;
    }
    // An element is kept if its 32-bit draw is at least the threshold.
    let threshold = (probability * 2f64.powi(32)) as u64;
    let scale = T::from_f64(1.0 / (1.0 - probability));
    let rows = y.par_chunks_mut(width).zip(x.par_chunks(width)).enumerate();
    rows.with_min_len(64).for_each(|(i, (y, x))| {
        let node = first_node + i as u64;
        for (group, (y, x)) in y.chunks_mut(4).zip(x.chunks(4)).enumerate() {
            let counter = [group as u32, key.layer, node as u32, (node >> 32) as u32];
            let draws = philox4x32(counter, [key.seed as u32, (key.seed >> 32) as u32 ^ key.epoch]);
            for ((y, x), draw) in y.iter_mut().zip(x).zip(draws) {
                *y = if u64::from(draw) >= threshold { *x * scale } else { T::default() };
            }
        }
    });
}

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that come with the authors' library (Random123, kat_vectors).
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
