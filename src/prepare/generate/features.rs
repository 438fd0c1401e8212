//! The features of nodes.

use super::config::GeneratorConfig;
use super::draws::{Purpose, PurposeDraws};
use super::labels::Labels;
use crate::io::Dtype;

/// Mean of the sum of eight numbers that are uniform on `0..65536`.
const NOISE_MEAN: f32 = 4.0 * 65_535.0;
const NOISE_VARIANCE: f64 = (65_536.0 * 65_536.0 - 1.0) * 8.0 / 12.0;

/// Features as a pure function of node and column: the mean of the node's class in that column, plus noise.
///
/// With C classes and D columns, the noise has the variance 1 / D, so that a row has a length of about 1 (with longer
/// rows, the first epochs only shrink the output). Means are `+a` or `-a` at random, with `a = signal * sqrt(2 ln C) /
/// D`. Because the best of C wrong guesses is about `sqrt(2 ln C)` above the noise, a classifier of single rows is
/// about equally good for any C and D.
pub(super) struct Features<'a> {
    labels: &'a Labels<'a>,
    columns: u64,
    amplitude: f32,
    noise_scale: f32,
    means: PurposeDraws,
    noise: PurposeDraws,
}

impl<'a> Features<'a> {
    pub(super) fn new(config: &GeneratorConfig, signal: f64, labels: &'a Labels<'a>) -> Self {
        let (classes, columns) = (config.classes as f64, config.features as f64);
        Features {
            labels,
            columns: config.features,
            amplitude: (signal * (2.0 * classes.ln()).sqrt() / columns) as f32,
            noise_scale: (1.0 / (columns * NOISE_VARIANCE).sqrt()) as f32,
            means: PurposeDraws::new(config.seed, Purpose::Mean),
            noise: PurposeDraws::new(config.seed, Purpose::Noise),
        }
    }

    /// Writes consecutive elements of the table of all nodes, row by row, in a type. `first` is the index of the first one,
    /// `node * columns + column`.
    pub(super) fn write(&self, first: u64, dtype: Dtype, out: &mut [u8]) {
        let mut values = vec![0.0; out.len() / dtype.size()];
        let mut elements = &mut values[..];
        let (mut node, mut column) = (first / self.columns, first % self.columns);
        while !elements.is_empty() {
            let count = (self.columns - column).min(elements.len() as u64);
            let (row, rest) = elements.split_at_mut(count as usize);
            self.write_row(node, column as u32, row);
            (node, column, elements) = (node + 1, 0, rest);
        }
        dtype.from_f32(&values, out);
    }

    /// Writes the columns from `first` on of one node.
    fn write_row(&self, node: u64, first: u32, out: &mut [f32]) {
        let class = self.labels.class(node);
        let mut signs = None;
        for (element, column) in out.iter_mut().zip(first..) {
            let group = column / 128;
            let words = match signs {
                Some((known, words)) if known == group => words,
                _ => self.means.words(class, group),
            };
            signs = Some((group, words));
            let minus = words[(column % 128 / 32) as usize] >> (column % 32) & 1 == 1;
            let mean = if minus { -self.amplitude } else { self.amplitude };
            *element = mean + self.noise(node, column);
        }
    }

    /// A sum of eight uniform numbers, which is close to normal (up to 4.9 standard deviations) and, unlike formulas
    /// with logarithms, has the same bits on every machine.
    fn noise(&self, node: u64, column: u32) -> f32 {
        let words = self.noise.words(node, column);
        let sum: u32 = words.iter().map(|word| (word & 0xffff) + (word >> 16)).sum();
        (sum as f32 - NOISE_MEAN) * self.noise_scale
    }
}
