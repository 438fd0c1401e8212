//! The rectified linear unit.

use rayon::prelude::*;

use super::real::{Element, Real};
use super::simd::{Kernel, vectorised};

/// Number of elements per thread and step.
const BLOCK: usize = 1 << 14;

/// `x = max(x, 0)`.
pub fn relu<E: Element>(x: &mut [E]) {
    x.par_chunks_mut(BLOCK).for_each(|x| vectorised(Forward { x }));
}

/// The adjoint of [`relu`], alone or followed by dropout, given the result `y`: multiplies `g` by `scale` where `y` is
/// above 0, and sets it to 0 elsewhere.
pub fn relu_adjoint<E: Element>(y: &[E], scale: f64, g: &mut [E]) {
    assert_eq!(y.len(), g.len());
    let scale = E::Real::from_f64(scale);
    let blocks = g.par_chunks_mut(BLOCK).zip(y.par_chunks(BLOCK));
    blocks.for_each(|(g, y)| vectorised(Backward { y, scale, g }));
}

struct Forward<'a, E> {
    x: &'a mut [E],
}

impl<E: Element> Kernel for Forward<'_, E> {
    #[inline(always)]
    fn run(self) {
        for x in self.x {
            // NaN stays NaN.
            *x = if x.wide() < E::Real::default() { E::default() } else { *x };
        }
    }
}

struct Backward<'a, E: Element> {
    y: &'a [E],
    scale: E::Real,
    g: &'a mut [E],
}

impl<E: Element> Kernel for Backward<'_, E> {
    #[inline(always)]
    fn run(self) {
        for (g, y) in self.g.iter_mut().zip(self.y) {
            let scaled = E::nearest(g.wide() * self.scale);
            *g = if y.wide() > E::Real::default() { scaled } else { E::default() };
        }
    }
}
