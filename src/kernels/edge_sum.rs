//! Sums over neighbours with a factor per edge and head, and the adjoint of the factors.

use super::blocks::{RowBlock, Rows, for_row_blocks};
use super::edge_softmax::EntryValues;
use super::real::Real;
use super::simd::{Kernel, prefetch, vectorised};
use crate::graph::Csr;

/// Prefetch distance, in edges.
const AHEAD: usize = 12;

/// `y[r, h, :] += sum over entries (r, c) of factor[h] * x[c, h, :]`, where every entry has a row of factors.
///
/// The adjoint with respect to `x` is the same sum over the transpose, whose entries name their factors by `places`.
pub struct EdgeSum<'a> {
    /// The structure.
    pub graph: &'a Csr,
    /// Row of factors per entry; by default the entry's own number.
    pub places: Option<&'a [u32]>,
    /// Factors per edge.
    pub heads: usize,
    /// Columns that share a factor.
    pub width: usize,
}

impl EdgeSum<'_> {
    fn columns(&self) -> usize {
        self.heads * self.width
    }

    /// Adds the sums of `x` (`[num_cols, heads * width]`) to `y` (`[num_rows, heads * width]`).
    pub fn add_to<T: Real>(&self, factors: &[T], x: &[T], y: &mut [T]) {
        assert_eq!(x.len(), self.graph.num_cols() * self.columns());
        assert_eq!(y.len(), self.graph.num_rows() * self.columns());
        assert_eq!(
            self.places.map_or(self.graph.num_entries(), <[u32]>::len),
            self.graph.num_entries()
        );
        let y = Rows::new(y, self.columns());
        for_row_blocks(self.graph, y, self.columns(), &|block| {
            vectorised(SumEdges { sum: self, block, factors, x });
        });
    }

    /// The adjoint with respect to the factors, `[num_entries, heads]`: `<x[c, h, :], gy[r, h, :]>` for an edge (r, c).
    ///
    /// Only for structures without `places`.
    pub fn inner_products<T: Real>(&self, x: &[T], gy: &[T], gfactors: &mut [T]) {
        assert!(self.places.is_none(), "factors are computed in their own order");
        assert_eq!(x.len(), self.graph.num_cols() * self.columns());
        assert_eq!(gy.len(), self.graph.num_rows() * self.columns());
        assert_eq!(gfactors.len(), self.graph.num_entries() * self.heads);
        let values = EntryValues::new(self.graph, gfactors, self.heads);
        for_row_blocks(self.graph, values, self.columns(), &|block| {
            vectorised(Products { sum: self, block, x, gy });
        });
    }
}

struct SumEdges<'a, T> {
    sum: &'a EdgeSum<'a>,
    block: RowBlock<Rows<'a, T>>,
    factors: &'a [T],
    x: &'a [T],
}

impl<T: Real> Kernel for SumEdges<'_, T> {
    #[inline(always)]
    fn run(self) {
        let SumEdges { sum, mut block, factors, x } = self;
        let (heads, width, columns) = (sum.heads, sum.width, sum.columns());
        let mut total = vec![T::default(); columns];
        for i in block.rows.clone() {
            let begin = sum.graph.indptr()[i] as usize;
            let last = sum.graph.indptr()[block.rows.end] as usize;
            let ahead = &sum.graph.indices()[begin..last];
            total.fill(T::default());
            for (entry, &col) in sum.graph.columns(i).iter().enumerate() {
                if let Some(&next) = ahead.get(entry + AHEAD) {
                    prefetch(&x[next as usize * columns..][..columns]);
                }
                let place =
                    sum.places.map_or(begin + entry, |places| places[begin + entry] as usize);
                let factors = &factors[place * heads..][..heads];
                let source = x[col as usize * columns..][..columns].chunks_exact(width.max(1));
                let totals = total.chunks_exact_mut(width.max(1));
                for ((total, source), factor) in totals.zip(source).zip(factors) {
                    for (t, x) in total.iter_mut().zip(source) {
                        *t += *factor * *x;
                    }
                }
            }
            let row = sum.graph.rows()[i] as usize - block.first;
            for (y, t) in block.result.row(row).iter_mut().zip(&total) {
                *y += *t;
            }
        }
    }
}

struct Products<'a, T> {
    sum: &'a EdgeSum<'a>,
    block: RowBlock<EntryValues<'a, T>>,
    x: &'a [T],
    gy: &'a [T],
}

impl<T: Real> Kernel for Products<'_, T> {
    #[inline(always)]
    fn run(self) {
        let Products { sum, mut block, x, gy } = self;
        let (heads, width, columns) = (sum.heads, sum.width, sum.columns());
        for i in block.rows.clone() {
            let row = sum.graph.rows()[i] as usize;
            let gy = &gy[row * columns..][..columns];
            let values = block.result.of(i);
            for (&col, values) in sum.graph.columns(i).iter().zip(values.chunks_exact_mut(heads)) {
                let source = &x[col as usize * columns..][..columns];
                for (head, value) in values.iter_mut().enumerate() {
                    let part = head * width..(head + 1) * width;
                    let pairs = source[part.clone()].iter().zip(&gy[part]);
                    let mut total = T::default();
                    for (x, g) in pairs {
                        total += *x * *g;
                    }
                    *value = total;
                }
            }
        }
    }
}
