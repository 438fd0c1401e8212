//! Sum over neighbours, separately per edge type.

use super::blocks::{RowBlock, Rows, for_row_blocks};
use super::real::Real;
use crate::graph::Csr;

/// `y[r, t] += x[c]` for every entry (r, c) of type t.
///
/// `types` holds each entry's type, in the order of the matrix. `x` is `[num_cols, width]`, `y` is `[num_rows,
/// num_types * width]`.
pub fn typed_sum<T: Real>(
    graph: &Csr,
    types: &[u16],
    num_types: usize,
    width: usize,
    x: &[T],
    y: &mut [T],
) {
    assert_eq!(x.len(), graph.num_cols() * width);
    assert_eq!(y.len(), graph.num_rows() * num_types * width);
    let y = Rows::new(y, num_types * width);
    for_row_blocks(graph, y, width, &|mut block: RowBlock<Rows<'_, T>>| {
        for i in block.rows {
            let y = block.result.row(graph.rows()[i] as usize - block.first);
            for (&col, &etype) in graph.columns(i).iter().zip(&types[graph.indptr()[i] as usize..])
            {
                let y = &mut y[etype as usize * width..][..width];
                for (y, x) in y.iter_mut().zip(&x[col as usize * width..][..width]) {
                    *y += *x;
                }
            }
        }
    });
}

/// The adjoint of [`typed_sum`]: `gx[c] += gy[r, t]`. `transpose` is the transpose of the matrix, with `types` in its
/// order.
pub fn typed_sum_adjoint<T: Real>(
    transpose: &Csr,
    types: &[u16],
    num_types: usize,
    width: usize,
    gy: &[T],
    gx: &mut [T],
) {
    assert_eq!(gy.len(), transpose.num_cols() * num_types * width);
    assert_eq!(gx.len(), transpose.num_rows() * width);
    let gx = Rows::new(gx, width);
    for_row_blocks(transpose, gx, width, &|mut block: RowBlock<Rows<'_, T>>| {
        for i in block.rows {
            let gx = block.result.row(transpose.rows()[i] as usize - block.first);
            let types = &types[transpose.indptr()[i] as usize..];
            for (&col, &etype) in transpose.columns(i).iter().zip(types) {
                let place = (col as usize * num_types + etype as usize) * width;
                for (gx, gy) in gx.iter_mut().zip(&gy[place..][..width]) {
                    *gx += *gy;
                }
            }
        }
    });
}
