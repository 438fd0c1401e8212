//! Rounding to bfloat16, the upper half of an `f32`.

use rayon::prelude::*;

use super::simd::{Kernel, vectorised};

/// Number of elements per thread and step.
const BLOCK: usize = 1 << 14;

/// Rounds to the nearest bfloat16, ties to even; NaN stays NaN.
#[inline(always)]
pub(super) fn nearest(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    if value.is_nan() { (bits >> 16) as u16 | 0x40 } else { rounded as u16 }
}

#[inline(always)]
pub(super) fn float(value: u16) -> f32 {
    f32::from_bits(u32::from(value) << 16)
}

struct Narrow<'a>(&'a [f32], &'a mut [u16]);

impl Kernel for Narrow<'_> {
    #[inline(always)]
    fn run(self) {
        for (value, narrow) in self.0.iter().zip(self.1) {
            *narrow = nearest(*value);
        }
    }
}

struct Widen<'a>(&'a [u16], &'a mut [f32]);

impl Kernel for Widen<'_> {
    #[inline(always)]
    fn run(self) {
        for (narrow, value) in self.0.iter().zip(self.1) {
            *value = float(*narrow);
        }
    }
}

/// The nearest bfloat16 of each value, as bits.
pub fn narrow_to_bf16(values: &[f32], narrow: &mut [u16]) {
    let blocks = values.par_chunks(BLOCK).zip(narrow.par_chunks_mut(BLOCK));
    blocks.for_each(|pair| vectorised(Narrow(pair.0, pair.1)));
}

/// Widens bfloat16s on the calling thread alone, which may be a read-ahead thread.
pub fn widen_bf16(narrow: &[u16], values: &mut [f32]) {
    vectorised(Widen(narrow, values));
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounding_is_that_of_the_half_crate(bits in prop::collection::vec(any::<u32>(), 0..100)) {
            let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
            let mut narrow = vec![0; values.len()];
            narrow_to_bf16(&values, &mut narrow);
            let mut wide = vec![0.0; values.len()];
            widen_bf16(&narrow, &mut wide);
            for (i, value) in values.iter().enumerate() {
                prop_assert_eq!(narrow[i], bf16::from_f32(*value).to_bits());
                prop_assert_eq!(wide[i].to_bits(), u32::from(narrow[i]) << 16);
            }
        }
    }
}
