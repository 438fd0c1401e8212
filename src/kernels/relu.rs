//! The rectified linear unit.

use rayon::prelude::*;

use super::element::Element;
use super::simd::{Kernel, vectorised};

/// Elements a thread works on at a time.
const BLOCK: usize = 1 << 14;

/// `y = max(x, 0)`.
pub fn relu<E: Element>(x: &[E], y: &mut [E]) {
    assert_eq!(x.len(), y.len());
    let blocks = y.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK));
    blocks.for_each(|(y, x)| vectorised(Forward { x, y }));
}

/// The adjoint of [`relu`]: `gx = gy` where `x` is above 0, else 0.
pub fn relu_adjoint<E: Element>(x: &[E], gy: &[E], gx: &mut [E]) {
    assert_eq!(x.len(), gx.len());
    assert_eq!(gy.len(), gx.len());
    let blocks = gx.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK)).zip(gy.par_chunks(BLOCK));
    blocks.for_each(|((gx, x), gy)| vectorised(Backward { x, gy, gx }));
}

struct Forward<'a, E> {
    x: &'a [E],
    y: &'a mut [E],
}

impl<E: Element> Kernel for Forward<'_, E> {
    #[inline(always)]
    fn run(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            // What is not a number stays so.
            *y = if x.wide() < E::Real::default() { E::default() } else { *x };
        }
    }
}

struct Backward<'a, E> {
    x: &'a [E],
    gy: &'a [E],
    gx: &'a mut [E],
}

impl<E: Element> Kernel for Backward<'_, E> {
    #[inline(always)]
    fn run(self) {
        for ((gx, x), gy) in self.gx.iter_mut().zip(self.x).zip(self.gy) {
            *gx = if x.wide() > E::Real::default() { *gy } else { E::default() };
        }
    }
}
