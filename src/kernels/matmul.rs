//! Dense products of tall matrices, in blocks of rows.
//!
//! Blocks have a fixed size and sums a fixed order, so the result does not depend on the number of threads.
#![allow(unsafe_code)] // one call of the product routine, which takes pointers

use rayon::prelude::*;

use super::real::Real;

/// Number of rows per block.
pub(super) const BLOCK: usize = 1024;

/// Number of rows per block of a product over rows.
const LONG_BLOCK: usize = 8192;

/// A matrix in memory, or its transpose.
#[derive(Clone, Copy)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    strides: [usize; 2],
}

impl<'a, T> Matrix<'a, T> {
    /// A matrix whose rows of `columns` elements lie one after the other.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        assert_eq!(data.len(), rows * columns);
        Matrix { data, rows, columns, strides: [columns, 1] }
    }

    /// The transpose, which shares the memory.
    #[must_use]
    pub fn transpose(self) -> Self {
        let Matrix { data, rows, columns, strides: [down, right] } = self;
        Matrix { data, rows: columns, columns: rows, strides: [right, down] }
    }

    /// Numbers of rows and columns.
    pub(super) fn size(self) -> (usize, usize) {
        (self.rows, self.columns)
    }
}

impl<T: Copy> Matrix<'_, T> {
    /// The element at (row, column).
    pub(super) fn at(self, row: usize, column: usize) -> T {
        self.data[row * self.strides[0] + column * self.strides[1]]
    }
}

/// `y = a b`, or `y += a b` with `add`, plus a row `bias` (`[b.columns]`) in every row. `a` is `[rows, k]` and `y` is
/// `[rows, b.columns]`, both row by row.
pub fn matmul<T: Real>(a: &[T], b: Matrix<'_, T>, bias: Option<&[T]>, y: &mut [T], add: bool) {
    let (k, n) = (b.rows, b.columns);
    if n == 0 {
        return;
    }
    if k == 0 {
        let zeros = vec![T::default(); n];
        y.chunks_exact_mut(n).for_each(|y| begin_row(bias.unwrap_or(&zeros), y, add));
        return;
    }
    assert_eq!(a.len() / k, y.len() / n);
    y.par_chunks_mut(BLOCK * n).zip(a.par_chunks(BLOCK * k)).for_each(|(y, a)| {
        if let Some(bias) = bias {
            y.chunks_exact_mut(n).for_each(|y| begin_row(bias, y, add));
        }
        product(Matrix::new(a, a.len() / k, k), b, y, add || bias.is_some());
    });
}

/// `x = x b` with a square matrix `b`, in place.
pub fn matmul_in_place<T: Real>(x: &mut [T], b: Matrix<'_, T>) {
    let n = b.columns;
    assert_eq!(b.rows, n);
    x.par_chunks_mut((BLOCK * n).max(1)).for_each_init(Vec::new, |a, x| {
        a.clear();
        a.extend_from_slice(x);
        product(Matrix::new(a, a.len() / n, n), b, x, false);
    });
}

fn begin_row<T: Real>(bias: &[T], y: &mut [T], add: bool) {
    if !add {
        y.copy_from_slice(bias);
        return;
    }
    for (y, bias) in y.iter_mut().zip(bias) {
        *y += *bias;
    }
}

/// `aᵀ b`, summed over rows: `a` is `[rows, m]`, `b` is `[rows, n]`, both row by row; the result is `[m, n]`.
pub fn matmul_over_rows<T: Real>(a: &[T], b: &[T], m: usize, n: usize) -> Vec<T> {
    over_blocks_of_rows(a, b, m, n, |a, b, part| {
        let rows = a.len() / m;
        product(Matrix::new(a, rows, m).transpose(), Matrix::new(b, rows, n), part, false);
    })
}

/// The sum of the `[m, n]` that `add` computes from each block of rows of `a` and `b`, in the order of blocks.
pub(super) fn over_blocks_of_rows<E: Sync, T: Real>(
    a: &[E],
    b: &[E],
    m: usize,
    n: usize,
    add: impl Fn(&[E], &[E], &mut [T]) + Sync,
) -> Vec<T> {
    let mut total = vec![T::default(); m * n];
    if m == 0 || n == 0 {
        return total;
    }
    assert_eq!(a.len() / m, b.len() / n);
    let blocks = a.par_chunks(LONG_BLOCK * m).zip(b.par_chunks(LONG_BLOCK * n));
    let parts = blocks.map(|(a, b)| {
        let mut part = vec![T::default(); m * n];
        add(a, b, &mut part);
        part
    });
    for part in parts.collect::<Vec<_>>() {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total
}

/// The product of a single row. The routine treats one row separately and sums in another order, but a row must have
/// the same bits whatever rows are computed with it.
fn product_of_a_row<T: Real>(a: Matrix<'_, T>, b: Matrix<'_, T>, y: &mut [T], add: bool) {
    let k = a.columns;
    let twice: Vec<T> = (0..2 * k).map(|i| a.at(0, i % k)).collect();
    let mut rows = [&*y, &*y].concat();
    product(Matrix::new(&twice, 2, k), b, &mut rows, add);
    let len = y.len();
    y.copy_from_slice(&rows[..len]);
}

/// `y = a b`, or `y += a b`, on the calling thread; `y` is row by row.
pub(super) fn product<T: Real>(a: Matrix<'_, T>, b: Matrix<'_, T>, y: &mut [T], add: bool) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert_eq!(k, b.rows);
    assert_eq!(y.len(), m * n);
    if m == 1 && n > 1 {
        return product_of_a_row(a, b, y, add);
    }
    let stride = |matrix: Matrix<'_, T>, side: usize| matrix.strides[side] as isize;
    let factor = if add { T::ONE } else { T::default() };
    // SAFETY: `Matrix` holds data, sizes and strides together, so every element that the routine reads through them lies in
    // `a.data` and `b.data`. It writes the m * n elements of `y`, which is borrowed exclusively and has that length.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            y.as_mut_ptr(),
            1,
            n as isize,
            add,
            a.data.as_ptr(),
            stride(a, 1),
            stride(a, 0),
            b.data.as_ptr(),
            stride(b, 1),
            stride(b, 0),
            factor,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
