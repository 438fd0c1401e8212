//! Sparse times dense: the sum over neighbours.

use super::blocks::{RowBlock, Rows, for_row_blocks};
use super::real::{Element, Real};
use super::simd::{Kernel, prefetch, vectorised};
use crate::graph::Csr;

/// Prefetch distance, in edges.
const AHEAD: usize = 12;

/// `y[r] += row_scale[r] * sum over entries (r, c) of weight * col_scale[c] * x[c]`, where every factor is optional.
///
/// The adjoint with respect to `x` is the same product with the transposed matrix, its weights in that order, and the
/// two scales exchanged: [`GraphShard`](crate::graph::GraphShard) keeps both orders.
pub struct Spmm<'a, T> {
    /// Structure of the matrix.
    pub graph: &'a Csr,
    /// One factor per entry, in the order of the matrix.
    pub weights: Option<&'a [f32]>,
    /// One factor per row.
    pub row_scale: Option<&'a [T]>,
    /// One factor per column.
    pub col_scale: Option<&'a [T]>,
}

impl<T: Real> Spmm<'_, T> {
    /// Adds the product with `x` (`[num_cols, width]`) to `y` (`[num_rows, width]`). A row is summed in `T` and rounded
    /// once, on adding.
    pub fn add_to<X: Element<Real = T>, Y: Element<Real = T>>(
        &self,
        x: &[X],
        width: usize,
        y: &mut [Y],
    ) {
        assert_eq!(x.len(), self.graph.num_cols() * width);
        assert_eq!(y.len(), self.graph.num_rows() * width);
        let y = Rows::new(y, width);
        for_row_blocks(self.graph, y, width, &|block| {
            vectorised(SumRows { product: self, block, x, width });
        });
    }

    /// Sums the neighbours of `rows()[i]`; rows up to `end` follow.
    #[inline(always)]
    fn row<X: Element<Real = T>>(&self, i: usize, end: usize, x: &[X], sum: &mut [T]) {
        let width = sum.len();
        sum.fill(T::default());
        let (begin, last) = (self.graph.indptr()[i] as usize, self.graph.indptr()[end] as usize);
        let ahead = &self.graph.indices()[begin..last];
        for (entry, &col) in self.graph.columns(i).iter().enumerate() {
            if let Some(&next) = ahead.get(entry + AHEAD) {
                prefetch(&x[next as usize * width..][..width]);
            }
            let source = &x[col as usize * width..][..width];
            let factor = match (self.weights, self.col_scale) {
                (None, None) => {
                    for (s, x) in sum.iter_mut().zip(source) {
                        *s += x.wide();
                    }
                    continue;
                }
                (Some(w), None) => T::from(w[begin + entry]),
                (None, Some(c)) => c[col as usize],
                (Some(w), Some(c)) => T::from(w[begin + entry]) * c[col as usize],
            };
            for (s, x) in sum.iter_mut().zip(source) {
                *s += factor * x.wide();
            }
        }
    }
}

struct SumRows<'a, T, X, Y> {
    product: &'a Spmm<'a, T>,
    block: RowBlock<Rows<'a, Y>>,
    x: &'a [X],
    width: usize,
}

impl<T: Real, X: Element<Real = T>, Y: Element<Real = T>> Kernel for SumRows<'_, T, X, Y> {
    #[inline(always)]
    fn run(self) {
        let SumRows { product, mut block, x, width } = self;
        let mut sum = vec![T::default(); width];
        for i in block.rows.clone() {
            let row = product.graph.rows()[i] as usize;
            product.row(i, block.rows.end, x, &mut sum);
            let scale = product.row_scale.map_or(T::ONE, |s| s[row]);
            for (y, s) in block.result.row(row - block.first).iter_mut().zip(&sum) {
                *y = Y::nearest(y.wide() + scale * *s);
            }
        }
    }
}
