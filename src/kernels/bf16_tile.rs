//! The innermost part of a bfloat16 product: one tile of the result, with AVX-512's dot product of pairs.
#![allow(unsafe_code)] // the instruction, and loads that need no further check of bounds

use std::ops::Range;

/// Number of rows of a tile; with four vectors per row its sums fill three quarters of the registers.
pub(super) const TILE_ROWS: usize = 6;

/// Number of elements of a vector of sums.
pub(super) const LANES: usize = 16;

/// Largest number of columns of a tile.
pub(super) const TILE_COLUMNS: usize = 4 * LANES;

/// The sums of a tile.
pub(super) type Tile = [[f32; TILE_COLUMNS]; TILE_ROWS];

/// A view of pairs of bfloat16s: pair p of row r is `data[r * row + p * pair]`.
#[derive(Clone, Copy)]
pub(super) struct Bf16Pairs<'a> {
    pub(super) data: &'a [u32],
    pub(super) row: usize,
    pub(super) pair: usize,
}

/// Columns of the product's right side, in pairs of neighbouring rows, `[pairs, columns]`.
pub(super) struct Panel {
    pub(super) data: Vec<u32>,
    /// Number of columns, a multiple of [`LANES`]; columns beyond the matrix are 0.
    pub(super) columns: usize,
}

/// Whether this processor has the dot product instruction.
pub(super) fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// `out[r][c]` = sum over all pairs of the inner products of `a`'s row `rows.start + r` and `panel`'s column c. `rows`
/// has 1 row or [`TILE_ROWS`]; `panel` is `[pairs, columns]` with up to [`TILE_COLUMNS`] columns, a multiple of
/// [`LANES`].
///
/// Call this only where the instruction is [`available`].
pub(super) fn tile(a: Bf16Pairs<'_>, rows: Range<usize>, panel: &Panel, out: &mut Tile) {
    let Panel { data: panel, columns } = panel;
    let (first, rows) = (rows.start, rows.len());
    let pairs = panel.len() / columns;
    assert!(pairs > 0 && panel.len() == pairs * columns && available());
    assert!((first + rows - 1) * a.row + (pairs - 1) * a.pair < a.data.len());
    #[cfg(target_arch = "x86_64")]
    {
        let a = Bf16Pairs { data: &a.data[first * a.row..], ..a };
        // SAFETY: the processor has the instructions; the last element read lies within `a`, and within the panel,
        // which has `columns` = V * LANES columns.
        unsafe {
            match (rows == TILE_ROWS, columns / LANES) {
                (true, 4) => x86::tile::<TILE_ROWS, 4>(a, pairs, panel, out),
                (true, 3) => x86::tile::<TILE_ROWS, 3>(a, pairs, panel, out),
                (true, 2) => x86::tile::<TILE_ROWS, 2>(a, pairs, panel, out),
                (true, _) => x86::tile::<TILE_ROWS, 1>(a, pairs, panel, out),
                (false, 4) => x86::tile::<1, 4>(a, pairs, panel, out),
                (false, 3) => x86::tile::<1, 3>(a, pairs, panel, out),
                (false, 2) => x86::tile::<1, 2>(a, pairs, panel, out),
                (false, _) => x86::tile::<1, 1>(a, pairs, panel, out),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = out;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_si512, _mm512_set1_epi32,
        _mm512_setzero_ps, _mm512_storeu_ps,
    };

    use super::{Bf16Pairs, LANES, Tile};

    /// # Safety
    /// `a` has R rows of `pairs` pairs, `panel` as many rows of V vectors.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(super) unsafe fn tile<const R: usize, const V: usize>(
        a: Bf16Pairs<'_>,
        pairs: usize,
        panel: &[u32],
        out: &mut Tile,
    ) {
        let mut sums = [[_mm512_setzero_ps(); V]; R];
        let (a_data, panel) = (a.data.as_ptr(), panel.as_ptr());
        for p in 0..pairs {
            // SAFETY: p < pairs and v < V, so the vector lies in the panel.
            let b: [__m512bh; V] = std::array::from_fn(|v| unsafe {
                as_bf16(_mm512_loadu_si512(panel.add((p * V + v) * LANES).cast()))
            });
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: r < R and p < pairs.
                let pair = unsafe { *a_data.add(r * a.row + p * a.pair) };
                let pair = as_bf16(_mm512_set1_epi32(pair as i32));
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = _mm512_dpbf16_ps(*sum, pair, b);
                }
            }
        }
        for (out, sums) in out.iter_mut().zip(sums) {
            for (out, sum) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
                // SAFETY: the chunk has the elements of one vector.
                unsafe { _mm512_storeu_ps(out.as_mut_ptr(), sum) };
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bf16")]
    fn as_bf16(bits: __m512i) -> __m512bh {
        // SAFETY: both are 64 bytes, and every bit pattern is a valid value.
        unsafe { std::mem::transmute(bits) }
    }
}
