//! Search for values that are NaN or infinite.

/// Number of elements checked together, in a loop without a branch, which vectorises.
const BLOCK: usize = 4096;

/// The index of the first element that is NaN or infinite.
pub fn first_not_finite(values: &[f32]) -> Option<usize> {
    first(
        values,
        |block| {
            // Only an exponent of all ones carries into the sign bit.
            let sum = |x: &f32| (x.to_bits() & 0x7fff_ffff).wrapping_add(0x0080_0000);
            block.iter().fold(0, |all, x| all | sum(x)) >> 31 == 0
        },
        |x| x.is_finite(),
    )
}

/// The index of the first element that is NaN or infinite.
pub fn first_not_finite_f64(values: &[f64]) -> Option<usize> {
    first(
        values,
        |block| {
            let sum = |x: &f64| (x.to_bits() & (u64::MAX >> 1)).wrapping_add(1 << 52);
            block.iter().fold(0, |all, x| all | sum(x)) >> 63 == 0
        },
        |x| x.is_finite(),
    )
}

fn first<T>(
    values: &[T],
    all_finite: impl Fn(&[T]) -> bool,
    is_finite: impl Fn(&T) -> bool,
) -> Option<usize> {
    let mut blocks = values.chunks(BLOCK).enumerate();
    let (number, block) = blocks.find(|(_, block)| !all_finite(block))?;
    Some(number * BLOCK + block.iter().position(|value| !is_finite(value))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_any_kind_is_found_at_any_place() {
        let extremes = [0.0, -0.0, f32::MIN_POSITIVE / 2.0, f32::MAX, f32::MIN];
        let negative_nan = f32::from_bits(f32::NAN.to_bits() | 1 << 31);
        for len in [1, 5, BLOCK, BLOCK + 1, 3 * BLOCK - 1] {
            let fine: Vec<f32> = (0..len).map(|i| extremes[i % extremes.len()]).collect();
            let doubles = |values: &[f32]| values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            assert_eq!(first_not_finite(&fine), None);
            assert_eq!(first_not_finite_f64(&doubles(&fine)), None);
            assert_eq!(first_not_finite_f64(&[f64::MAX, f64::MIN]), None);
            for bad in [f32::NAN, negative_nan, f32::INFINITY, f32::NEG_INFINITY] {
                for place in [0, len / 2, len - 1] {
                    let mut values = fine.clone();
                    (values[place], values[len - 1]) = (bad, bad);
                    assert_eq!(first_not_finite(&values), Some(place));
                    assert_eq!(first_not_finite_f64(&doubles(&values)), Some(place));
                }
            }
        }
    }
}
