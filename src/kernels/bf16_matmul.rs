//! Dense products of tall matrices of bfloat16s, with sums in single precision.
//!
//! As in [`matmul`](super::matmul()), blocks have a fixed size and sums a fixed order, so the bits do not depend on the
//! number of threads. A processor without a dot product of bfloat16s computes the same product in single precision.
//! Matrices with an odd number of columns take that way, too: their rows do not divide into pairs.

use std::ops::Range;

use half::bf16;
use rayon::prelude::*;

use super::bf16::{nearest, widen_bf16};
use super::bf16_tile::{Bf16Pairs, LANES, Panel, TILE_COLUMNS, TILE_ROWS, Tile, available, tile};
use super::matmul::{BLOCK, Matrix, over_blocks_of_rows, product};
use super::real::Element;
use super::simd::{Kernel, vectorised};

/// Number of rows laid out in pairs at a time, for a product over rows.
const PACKED_ROWS: usize = 256;

/// `y = a b`, or `y += a b` with `add`, plus a row `bias` (`[b.columns]`) in every row. `a` is `[rows, k]` and `y` is
/// `[rows, b.columns]`, both row by row. Elements of `b` are rounded to bfloat16; sums are rounded once, on writing.
pub fn matmul_bf16<E: Element<Real = f32>>(
    a: &[bf16],
    b: Matrix<'_, f32>,
    bias: Option<&[f32]>,
    y: &mut [E],
    add: bool,
) {
    matmul_with(available(), a, b, bias, y, add);
}

/// `x = x b` with a square matrix `b`, in place.
pub fn matmul_bf16_in_place(x: &mut [bf16], b: Matrix<'_, f32>) {
    let n = b.size().1;
    assert_eq!(b.size().0, n);
    let product = block_product(available(), b, None, false);
    x.par_chunks_mut((BLOCK * n).max(1)).for_each_init(Vec::new, |a, x| {
        a.clear();
        a.extend_from_slice(x);
        product(a, x);
    });
}

fn matmul_with<E: Element<Real = f32>>(
    dot_product: bool,
    a: &[bf16],
    b: Matrix<'_, f32>,
    bias: Option<&[f32]>,
    y: &mut [E],
    add: bool,
) {
    let (k, n) = b.size();
    if n == 0 || k == 0 {
        let zeros = vec![0.0; n];
        let rows = y.chunks_exact_mut(n.max(1));
        return rows.for_each(|y| finish(bias.unwrap_or(&zeros), None, y, add));
    }
    assert_eq!(a.len() / k, y.len() / n);
    let product = block_product(dot_product, b, bias, add);
    let blocks = y.par_chunks_mut(BLOCK * n).zip(a.par_chunks(BLOCK * k));
    blocks.for_each(|(y, a)| product(a, y));
}

/// Computes a block of a product's rows from rows of `a`, and writes it to, or adds it to, rows of `y`.
type BlockProduct<'b, E> = dyn Fn(&[bf16], &mut [E]) + Sync + 'b;

fn block_product<'b, E: Element<Real = f32>>(
    dot_product: bool,
    b: Matrix<'_, f32>,
    bias: Option<&'b [f32]>,
    add: bool,
) -> Box<BlockProduct<'b, E>> {
    let (k, n) = b.size();
    if dot_product && k % 2 == 0 {
        let panels = weight_panels(b);
        Box::new(move |a, y| {
            let a = Bf16Pairs { data: bytemuck::cast_slice(a), row: k / 2, pair: 1 };
            for (panel, first) in panels.iter().zip((0..n).step_by(TILE_COLUMNS)) {
                let columns = TILE_COLUMNS.min(n - first);
                let bias = bias.map(|bias| &bias[first..][..columns]);
                for_tiles(a, y.len() / n, panel, columns, |row, sums| {
                    finish(sums, bias, &mut y[row * n + first..][..columns], add);
                });
            }
        })
    } else {
        let b = rounded(b);
        Box::new(move |a, y| {
            let a = widened(a);
            let b = Matrix::new(&b, k, n);
            let mut sums = vec![0.0; y.len()];
            product(Matrix::new(&a, a.len() / k, k), b, &mut sums, false);
            let rows = y.chunks_exact_mut(n).zip(sums.chunks_exact(n));
            rows.for_each(|(y, sums)| finish(sums, bias, y, add));
        })
    }
}

/// `aᵀ b`, summed over rows: `a` is `[rows, m]`, `b` is `[rows, n]`, both row by row; the result is `[m, n]`.
pub fn matmul_over_rows_bf16(a: &[bf16], b: &[bf16], m: usize, n: usize) -> Vec<f32> {
    over_rows_with(available(), a, b, m, n)
}

fn over_rows_with(dot_product: bool, a: &[bf16], b: &[bf16], m: usize, n: usize) -> Vec<f32> {
    over_blocks_of_rows(a, b, m, n, |a, b, part| {
        for (a, b) in a.chunks(PACKED_ROWS * m).zip(b.chunks(PACKED_ROWS * n)) {
            if dot_product {
                add_over_rows(a, b, m, n, part);
            } else {
                let (a, b, rows) = (widened(a), widened(b), a.len() / m);
                let a = Matrix::new(&a, rows, m).transpose();
                product(a, Matrix::new(&b, rows, n), part, true);
            }
        }
    })
}

/// `part += aᵀ b`.
fn add_over_rows(a: &[bf16], b: &[bf16], m: usize, n: usize, part: &mut [f32]) {
    let rows = a.len() / m;
    let pairs = rows.div_ceil(2);
    let mut left = vec![0; pairs * m];
    pack_rows(a, m, 0..m, &mut left, m);
    let a = Bf16Pairs { data: &left, row: 1, pair: m };
    for first in (0..n).step_by(TILE_COLUMNS) {
        let columns = TILE_COLUMNS.min(n - first);
        let padded = columns.next_multiple_of(LANES);
        let mut panel = vec![0; pairs * padded];
        pack_rows(b, n, first..first + columns, &mut panel, padded);
        for_tiles(a, m, &Panel { data: panel, columns: padded }, columns, |row, sums| {
            let part = &mut part[row * n + first..][..columns];
            part.iter_mut().zip(sums).for_each(|(part, sum)| *part += *sum);
        });
    }
}

/// Packs some columns of a matrix in pairs of neighbouring rows; the last row stays alone if their number is odd.
fn pack_rows(x: &[bf16], width: usize, columns: Range<usize>, packed: &mut [u32], stride: usize) {
    for (rows, packed) in x.chunks(2 * width).zip(packed.chunks_exact_mut(stride)) {
        let high = rows.get(width..).and_then(|row| row.get(columns.clone()));
        vectorised(PackPair { low: &rows[columns.clone()], high, packed });
    }
}

struct PackPair<'a> {
    low: &'a [bf16],
    high: Option<&'a [bf16]>,
    packed: &'a mut [u32],
}

impl Kernel for PackPair<'_> {
    #[inline(always)]
    fn run(self) {
        let PackPair { low, high, packed } = self;
        for (packed, low) in packed.iter_mut().zip(low) {
            *packed = u32::from(low.to_bits());
        }
        for (packed, high) in packed.iter_mut().zip(high.unwrap_or(&[])) {
            *packed |= u32::from(high.to_bits()) << 16;
        }
    }
}

/// Panels of all columns of a matrix with an even number of rows.
fn weight_panels(b: Matrix<'_, f32>) -> Vec<Panel> {
    let (k, n) = b.size();
    let panel = |first: usize| {
        let columns = TILE_COLUMNS.min(n - first);
        let padded = columns.next_multiple_of(LANES);
        let mut data = vec![0; k / 2 * padded];
        for (p, pairs) in data.chunks_exact_mut(padded).enumerate() {
            for (c, pair) in pairs[..columns].iter_mut().enumerate() {
                let [low, high] = [2 * p, 2 * p + 1].map(|row| nearest(b.at(row, first + c)));
                *pair = u32::from(low) | u32::from(high) << 16;
            }
        }
        Panel { data, columns: padded }
    };
    (0..n).step_by(TILE_COLUMNS).map(panel).collect()
}

/// Passes the first `rows` rows of a product with a panel to `take`, without the panel's padding columns.
fn for_tiles(
    a: Bf16Pairs<'_>,
    rows: usize,
    panel: &Panel,
    columns: usize,
    mut take: impl FnMut(usize, &[f32]),
) {
    let mut sums: Tile = [[0.0; TILE_COLUMNS]; TILE_ROWS];
    let height = if rows < TILE_ROWS { 1 } else { TILE_ROWS };
    for row in (0..rows).step_by(height) {
        // The last tile overlaps its predecessor.
        let first = row.min(rows - height);
        tile(a, first..first + height, panel, &mut sums);
        for (r, sums) in sums[..height].iter().enumerate().skip(row - first) {
            take(first + r, &sums[..columns]);
        }
    }
}

/// Writes or adds a row of sums with a bias.
fn finish<E: Element<Real = f32>>(sums: &[f32], bias: Option<&[f32]>, y: &mut [E], add: bool) {
    vectorised(Finish { sums, bias, y, add });
}

struct Finish<'a, E> {
    sums: &'a [f32],
    bias: Option<&'a [f32]>,
    y: &'a mut [E],
    add: bool,
}

impl<E: Element<Real = f32>> Kernel for Finish<'_, E> {
    #[inline(always)]
    fn run(self) {
        let Finish { sums, bias, y, add } = self;
        match (bias, add) {
            (None, false) => {
                for (y, sum) in y.iter_mut().zip(sums) {
                    *y = E::nearest(*sum);
                }
            }
            (None, true) => {
                for (y, sum) in y.iter_mut().zip(sums) {
                    *y = E::nearest(y.wide() + *sum);
                }
            }
            (Some(bias), add) => {
                for ((y, sum), bias) in y.iter_mut().zip(sums).zip(bias) {
                    let old = if add { y.wide() } else { 0.0 };
                    *y = E::nearest(old + *bias + *sum);
                }
            }
        }
    }
}

fn widened(x: &[bf16]) -> Vec<f32> {
    let mut wide = vec![0.0; x.len()];
    widen_bf16(bytemuck::cast_slice(x), &mut wide);
    wide
}

/// The matrix row by row, its elements rounded to bfloat16.
fn rounded(b: Matrix<'_, f32>) -> Vec<f32> {
    let (k, n) = b.size();
    let element = |i: usize| bf16::nearest(b.at(i / n, i % n)).wide();
    (0..k * n).map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(len: usize) -> Vec<bf16> {
        (0..len).map(|i| bf16::from_f32((i * 7919 % 1009) as f32 / 1009.0 - 0.5)).collect()
    }

    fn close(ours: &[f32], exact: &[f64]) {
        assert_eq!(ours.len(), exact.len());
        for (ours, exact) in ours.iter().zip(exact) {
            assert!(
                (f64::from(*ours) - exact).abs() <= 1e-5 * exact.abs() + 1e-4,
                "{ours} {exact}"
            );
        }
    }

    /// Shapes with and without remainders of tiles, vectors and pairs.
    const SHAPES: [(usize, usize, usize); 5] =
        [(1, 2, 1), (7, 16, 40), (1030, 128, 128), (13, 33, 70), (600, 18, 17)];

    #[test]
    fn products_are_those_of_the_rounded_values() {
        for ((rows, k, n), dot_product) in SHAPES.into_iter().zip([true, false].repeat(3)) {
            for dot_product in [dot_product && available(), false] {
                let (a, b) = (values(rows * k), values(k * n));
                let weight: Vec<f32> = b.iter().map(|b| b.wide()).collect();
                let bias: Vec<f32> = (0..n).map(|c| c as f32).collect();
                let mut y = vec![1.0_f32; rows * n];
                let weight = Matrix::new(&weight, k, n);
                matmul_with(dot_product, &a, weight, Some(&bias), &mut y, true);
                let exact = (0..rows * n).map(|i| {
                    let (r, c) = (i / n, i % n);
                    let products = (0..k).map(|j| a[r * k + j].to_f64() * b[j * n + c].to_f64());
                    1.0 + c as f64 + products.sum::<f64>()
                });
                close(&y, &exact.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn products_over_rows_are_those_of_the_rounded_values() {
        for (rows, m, n) in SHAPES {
            for dot_product in [available(), false] {
                let (a, b) = (values(rows * m), values(rows * n));
                let ours = over_rows_with(dot_product, &a, &b, m, n);
                let exact = (0..m * n).map(|i| {
                    let (c, d) = (i / n, i % n);
                    let rows = 0..rows;
                    rows.map(|r| a[r * m + c].to_f64() * b[r * n + d].to_f64()).sum::<f64>()
                });
                close(&ours, &exact.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_transposed_weight_and_a_rounded_result() {
        let (rows, k, n) = (10, 6, 5);
        let (a, weight) = (values(rows * k), vec![0.5_f32; k * n]);
        let (mut wide, mut narrow) = (vec![0.0_f32; rows * n], vec![bf16::ZERO; rows * n]);
        let weight = Matrix::new(&weight, n, k).transpose();
        matmul_bf16(&a, weight, None, &mut wide, false);
        matmul_bf16(&a, weight, None, &mut narrow, false);
        for (wide, narrow) in wide.iter().zip(narrow) {
            assert_eq!(bf16::from_f32(*wide), narrow);
        }
    }
}
