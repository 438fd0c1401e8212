//! Random initial values that are a pure function of (seed, row, column).

use rayon::prelude::*;

use super::philox::philox4x32;
use super::real::Real;

/// Fills rows of `width` elements with numbers uniform in ±`bound`; row i of `out` is row `first + i` of the whole matrix.
pub fn uniform_rows<T: Real>(seed: u64, bound: f64, first: u64, width: usize, out: &mut [T]) {
    if width == 0 {
        return;
    }
    out.par_chunks_mut(width).enumerate().with_min_len(64).for_each(|(i, row)| {
        let number = first + i as u64;
        for (group, values) in row.chunks_mut(4).enumerate() {
            let counter = [group as u32, 0, number as u32, (number >> 32) as u32];
            let draws = philox4x32(counter, [seed as u32, (seed >> 32) as u32]);
            for (value, draw) in values.iter_mut().zip(draws) {
                *value = T::from_f64(bound * (f64::from(draw) * 2f64.powi(-31) - 1.0));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_depend_on_where_they_are_drawn() {
        let mut all = [0.0_f64; 5 * 6];
        uniform_rows(7, 0.5, 0, 6, &mut all);
        let mut some = [0.0_f64; 2 * 6];
        uniform_rows(7, 0.5, 3, 6, &mut some);
        assert_eq!(all[3 * 6..], some);
        assert!(all.iter().all(|v| v.abs() <= 0.5));
        let mean = all.iter().sum::<f64>() / 30.0;
        assert!(mean.abs() < 0.3 && all.iter().any(|v| *v < -0.2) && all.iter().any(|v| *v > 0.2));
    }
}
