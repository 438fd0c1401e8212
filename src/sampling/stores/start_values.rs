//! Initial values of embeddings.

use std::f64::consts::TAU;

use crate::engine::tape::Init;
use crate::kernels::uniform_rows;

/// A function that fills rows of an embedding of this size: DGL's `init_func`, with the distributions of
/// `torch.nn.init`. Each row is a function of the seed and its index, whichever rank fills it.
///
/// ```
/// use sar::engine::tape::Init;
/// use sar::sampling::stores::start_values;
///
/// let start = start_values(Init::Uniform { bound: 0.1 }, 1000, 8, 42);
/// let mut rows = [0.0; 2 * 8];
/// start(500, &mut rows);
/// assert!(rows.iter().all(|value| value.abs() <= 0.1));
/// ```
pub fn start_values(
    init: Init,
    num_embeddings: u64,
    embedding_dim: usize,
    seed: u64,
) -> impl Fn(u64, &mut [f32]) {
    let fans = num_embeddings as f64 + embedding_dim as f64;
    move |first, rows| match init {
        Init::Zeros => rows.fill(0.0),
        Init::Constant(value) => rows.fill(value as f32),
        Init::Uniform { bound } => uniform_rows(seed, bound, first, embedding_dim, rows),
        Init::XavierUniform { gain } => {
            uniform_rows(seed, gain * (6.0 / fans).sqrt(), first, embedding_dim, rows);
        }
        Init::Glorot => uniform_rows(seed, (6.0 / fans).sqrt(), first, embedding_dim, rows),
        Init::XavierNormal { gain } => {
            normal_rows(seed, gain * (2.0 / fans).sqrt(), first, embedding_dim, rows);
        }
    }
}

/// Fills rows with normally distributed numbers (Box-Muller transform).
fn normal_rows(seed: u64, deviation: f64, first: u64, width: usize, rows: &mut [f32]) {
    // Each normal number takes two uniform numbers in [-1, 1).
    let mut pairs = vec![0.0_f64; 2 * width];
    for (row, number) in rows.chunks_mut(width.max(1)).zip(first..) {
        uniform_rows(seed, 1.0, number, 2 * width, &mut pairs);
        for (value, pair) in row.iter_mut().zip(pairs.as_chunks::<2>().0) {
            // In (0, 1], because the logarithm of 0 is infinite.
            let unit = (1.0 - pair[0]) / 2.0;
            *value = (deviation * (-2.0 * unit.ln()).sqrt() * (TAU / 2.0 * pair[1]).cos()) as f32;
        }
    }
}
