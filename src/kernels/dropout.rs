//! Dropout whose mask is a pure function of (seed, epoch, layer, node, column). The mask needs no storage, and does not
//! depend on threads, memory budget or the order of ranks.

use rayon::prelude::*;

use super::philox::{LANES, philox_lanes};
use super::real::{Element, Real};
use super::simd::{Kernel, vectorised};

/// Identifies one application of dropout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropoutKey {
    /// The run's seed.
    pub seed: u64,
    /// The epoch (or step).
    pub epoch: u32,
    /// The layer, or another number that tells the applications of one forward pass apart.
    pub layer: u32,
}

/// `x = x * m / (1 - probability)`, where m is 0 with `probability` and otherwise 1, drawn for each (node, column).
///
/// Rows of `x` have `width` elements; row i belongs to the node with global id `nodes[i]`. The adjoint applies the same
/// function to the gradient.
pub fn dropout<E: Element>(
    key: DropoutKey,
    probability: f64,
    nodes: &[i64],
    width: usize,
    x: &mut [E],
) {
    assert_eq!(x.len(), nodes.len() * width);
    if width == 0 {
        return;
    }
    // An element stays if its 32-bit draw reaches the threshold.
    let threshold = (probability * 2f64.powi(32)) as u32;
    let scale = E::Real::from_f64(1.0 / (1.0 - probability));
    let draws = Draws { key, threshold, scale };
    let blocks = x.par_chunks_mut(ROWS * width).zip(nodes.par_chunks(ROWS));
    blocks.for_each(|(x, nodes)| vectorised(DropBlock { draws, nodes, x }));
}

/// Number of rows per thread and step.
const ROWS: usize = 256;

/// Number of a row's elements drawn together.
const TILE: usize = 4 * LANES;

#[derive(Clone, Copy)]
struct Draws<T> {
    key: DropoutKey,
    threshold: u32,
    scale: T,
}

struct DropBlock<'a, E: Element> {
    draws: Draws<E::Real>,
    nodes: &'a [i64],
    x: &'a mut [E],
}

impl<E: Element> Kernel for DropBlock<'_, E> {
    #[inline(always)]
    fn run(self) {
        let DropBlock { draws, nodes, x } = self;
        let width = x.len() / nodes.len();
        for (x, &node) in x.chunks_exact_mut(width).zip(nodes) {
            for (tile, x) in x.chunks_mut(TILE).enumerate() {
                draws.tile(node as u64, tile, x);
            }
        }
    }
}

impl<T: Real> Draws<T> {
    #[inline(always)]
    fn tile<E: Element<Real = T>>(self, node: u64, tile: usize, x: &mut [E]) {
        let Draws { key, threshold, scale } = self;
        let words = [key.layer, node as u32, (node >> 32) as u32];
        let seed = [key.seed as u32, (key.seed >> 32) as u32 ^ key.epoch];
        let draws = philox_lanes((tile * LANES) as u32, words, seed);
        // Factors come first: a choice between values vectorises, a branch around a load does not.
        let mut factors = [scale; TILE];
        for (factor, draw) in factors.iter_mut().zip(draws.as_flattened()) {
            *factor = if *draw >= threshold { scale } else { T::default() };
        }
        for (x, factor) in x.iter_mut().zip(&factors) {
            *x = E::nearest(x.wide() * *factor);
        }
    }
}
