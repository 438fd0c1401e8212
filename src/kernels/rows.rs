//! Gathering rows of a matrix, and scattering them back.

use rayon::prelude::*;

use super::real::{Element, Real};
use super::simd::{Kernel, vectorised};

/// Number of rows per thread and step.
const ROWS: usize = 512;

/// `out[i] = x[rows[i]]`; `x` has rows of `width` elements.
pub fn gather_rows<T: Copy + Send + Sync>(x: &[T], width: usize, rows: &[u32], out: &mut [T]) {
    assert_eq!(out.len(), rows.len() * width);
    if width == 0 {
        return;
    }
    out.par_chunks_mut(ROWS * width).zip(rows.par_chunks(ROWS)).for_each(|(out, rows)| {
        for (out, &row) in out.chunks_exact_mut(width).zip(rows) {
            out.copy_from_slice(&x[row as usize * width..][..width]);
        }
    });
}

/// The adjoint of [`gather_rows`]: `x[rows[i]] += values[i]`; `rows` ascends strictly.
pub fn scatter_add_rows<T: Real, E: Element<Real = T>>(
    values: &[E],
    width: usize,
    rows: &[u32],
    x: &mut [T],
) {
    assert_eq!(values.len(), rows.len() * width);
    scatter(values, width, rows, 0, x);
}

/// Halves the work at a row, so that each thread owns part of `x`, which begins with row `first`.
fn scatter<T: Real, E: Element<Real = T>>(
    values: &[E],
    width: usize,
    rows: &[u32],
    first: usize,
    x: &mut [T],
) {
    if rows.len() > ROWS {
        let middle = rows.len() / 2;
        let boundary = rows[middle] as usize;
        let (low, high) = x.split_at_mut((boundary - first) * width);
        let (low_values, high_values) = values.split_at(middle * width);
        rayon::join(
            || scatter(low_values, width, &rows[..middle], first, low),
            || scatter(high_values, width, &rows[middle..], boundary, high),
        );
        return;
    }
    vectorised(AddRows { values, width, rows, first, x });
}

struct AddRows<'a, T, E> {
    values: &'a [E],
    width: usize,
    rows: &'a [u32],
    first: usize,
    x: &'a mut [T],
}

impl<T: Real, E: Element<Real = T>> Kernel for AddRows<'_, T, E> {
    #[inline(always)]
    fn run(self) {
        let AddRows { values, width, rows, first, x } = self;
        for (i, &row) in rows.iter().enumerate() {
            let target = &mut x[(row as usize - first) * width..][..width];
            for (t, v) in target.iter_mut().zip(&values[i * width..][..width]) {
                *t += v.wide();
            }
        }
    }
}
