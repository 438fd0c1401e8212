//! Maximum and minimum over neighbours.

use super::blocks::{RowBlock, Rows, for_row_blocks};
use super::real::Real;
use crate::graph::Csr;

/// Argument of a row before its first neighbour.
pub const NO_SOURCE: u32 = u32::MAX;

/// The neighbour whose value a column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// The largest value.
    Max,
    /// The smallest value.
    Min,
}

/// Sets `value[r, j]` to the largest (smallest) of itself and `x[c, j]` over the entries (r, c) of row r, and
/// `argument[r, j]` to `base + c` of the entry it came from. The first of equal values stays.
///
/// `x` is `[num_cols, width]`, `value` and `argument` are `[num_rows, width]`. Where the argument is [`NO_SOURCE`], the
/// value is not set yet.
pub fn select<T: Real>(
    graph: &Csr,
    selection: Selection,
    x: &[T],
    width: usize,
    base: u32,
    value: &mut [T],
    argument: &mut [u32],
) {
    assert_eq!(x.len(), graph.num_cols() * width);
    assert_eq!(value.len(), graph.num_rows() * width);
    assert_eq!(argument.len(), value.len());
    let result = (Rows::new(value, width), Rows::new(argument, width));
    for_row_blocks(graph, result, width, &|block: RowBlock<(Rows<'_, T>, Rows<'_, u32>)>| {
        let (mut values, mut arguments) = block.result;
        for i in block.rows {
            let place = graph.rows()[i] as usize - block.first;
            let mut row: Vec<_> = values.row(place).iter_mut().zip(arguments.row(place)).collect();
            for &col in graph.columns(i) {
                let source = &x[col as usize * width..][..width];
                for ((value, argument), candidate) in row.iter_mut().zip(source) {
                    let better = match selection {
                        Selection::Max => *candidate > **value,
                        Selection::Min => *candidate < **value,
                    };
                    if better || **argument == NO_SOURCE {
                        (**value, **argument) = (*candidate, base + col);
                    }
                }
            }
        }
    });
}

/// The adjoint of [`select`]: `gx[c, j] += gy[r, j]` for every (r, j) whose argument is `base + c`.
///
/// `transpose` is the transpose of the matrix that `select` walked. Each source visits its destinations, so no two
/// threads write one row.
pub fn select_adjoint<T: Real>(
    transpose: &Csr,
    argument: &[u32],
    gy: &[T],
    width: usize,
    base: u32,
    gx: &mut [T],
) {
    assert_eq!(argument.len(), transpose.num_cols() * width);
    assert_eq!(gy.len(), argument.len());
    assert_eq!(gx.len(), transpose.num_rows() * width);
    for_row_blocks(transpose, Rows::new(gx, width), width, &|mut block: RowBlock<Rows<'_, T>>| {
        for i in block.rows {
            let row = transpose.rows()[i];
            let sum = block.result.row(row as usize - block.first);
            let mut previous = None;
            for &col in transpose.columns(i) {
                // Parallel edges lie side by side and carry the gradient once.
                if previous.replace(col) == Some(col) {
                    continue;
                }
                let place = col as usize * width;
                let taken = argument[place..][..width].iter().zip(&gy[place..][..width]);
                for (sum, (argument, g)) in sum.iter_mut().zip(taken) {
                    if *argument == base + row {
                        *sum += *g;
                    }
                }
            }
        }
    });
}
