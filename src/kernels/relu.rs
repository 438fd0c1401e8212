//! The rectified linear unit.

use rayon::prelude::*;

use super::element::Element;
use super::simd::vectorised;

/// Elements a thread works on at a time.
const BLOCK: usize = 1 << 14;

/// `y = max(x, 0)`.
pub fn relu<E: Element>(x: &[E], y: &mut [E]) {
    assert_eq!(x.len(), y.len());
    let blocks = y.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK));
    blocks.for_each(|(y, x)| vectorised((x, y), forward::<E>));
}

/// The adjoint of [`relu`]: `gx = gy` where `x` is above 0, else 0.
pub fn relu_adjoint<E: Element>(x: &[E], gy: &[E], gx: &mut [E]) {
    assert_eq!(x.len(), gx.len());
    assert_eq!(gy.len(), gx.len());
    let blocks = gx.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK)).zip(gy.par_chunks(BLOCK));
    blocks.for_each(|((gx, x), gy)| vectorised((x, gy, gx), backward::<E>));
}

#[inline(always)]
fn forward<E: Element>((x, y): (&[E], &mut [E])) {
    for (y, x) in y.iter_mut().zip(x) {
        // What is not a number stays so.
        *y = if x.wide() < E::Real::default() { E::default() } else { *x };
    }
}

#[inline(always)]
fn backward<E: Element>((x, gy, gx): (&[E], &[E], &mut [E])) {
    for ((gx, x), gy) in gx.iter_mut().zip(x).zip(gy) {
        *gx = if x.wide() > E::Real::default() { *gy } else { E::default() };
    }
}
