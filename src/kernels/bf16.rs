//! Rounding to bfloat16: the upper half of a float.

use rayon::prelude::*;

use super::simd::vectorised;

/// Elements a thread works on at a time.
const BLOCK: usize = 1 << 14;

/// Rounds to the nearest bfloat16, ties to even; what is not a number stays so.
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

#[inline(always)]
fn round_block(values: &mut [f32]) {
    for value in values {
        *value = float(nearest(*value));
    }
}

#[inline(always)]
fn narrow_block((values, narrow): (&[f32], &mut [u16])) {
    values.iter().zip(narrow).for_each(|(value, narrow)| *narrow = nearest(*value));
}

#[inline(always)]
pub(super) fn widen_block((narrow, values): (&[u16], &mut [f32])) {
    narrow.iter().zip(values).for_each(|(narrow, value)| *value = float(*narrow));
}

/// Rounds each value to the nearest bfloat16.
pub fn round_to_bf16(values: &mut [f32]) {
    values.par_chunks_mut(BLOCK).for_each(|block| vectorised(block, round_block));
}

/// The nearest bfloat16 of each value, as bits.
pub fn narrow_to_bf16(values: &[f32], narrow: &mut [u16]) {
    let blocks = values.par_chunks(BLOCK).zip(narrow.par_chunks_mut(BLOCK));
    blocks.for_each(|pair| vectorised(pair, narrow_block));
}

/// The values of bfloat16s.
pub fn widen_bf16(narrow: &[u16], values: &mut [f32]) {
    let blocks = narrow.par_chunks(BLOCK).zip(values.par_chunks_mut(BLOCK));
    blocks.for_each(|pair| vectorised(pair, widen_block));
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
            let (mut narrow, mut rounded) = (vec![0; values.len()], values.clone());
            narrow_to_bf16(&values, &mut narrow);
            round_to_bf16(&mut rounded);
            let mut wide = vec![0.0; values.len()];
            widen_bf16(&narrow, &mut wide);
            for (i, value) in values.iter().enumerate() {
                prop_assert_eq!(narrow[i], bf16::from_f32(*value).to_bits());
                prop_assert_eq!(wide[i].to_bits(), rounded[i].to_bits());
            }
        }
    }
}
