//! Attention over neighbours: scores, softmax over in-edges and weighted sum in one pass over the edges.
//!
//! Nothing has a row per edge. The forward pass keeps a running maximum and sum per destination (Milakov and Gimelshein,
//! "Online normalizer calculation for softmax", 2018), so that shards can follow each other; the adjoint computes each
//! edge's attention again from its score and the destination's logarithm of the sum.

use super::attention_score::{EdgeHead, Score};
use super::blocks::{Block, Rows, for_row_blocks};
use super::dropout::DropoutKey;
use super::philox::philox4x32;
use super::real::Real;
use crate::graph::Csr;

/// Edges whose scores are held at a time.
const CHUNK: usize = 64;

/// Which edges' attention is dropped: a function of (seed, epoch, layer, source, destination, head). Parallel edges are
/// dropped together.
#[derive(Clone, Copy)]
pub struct AttentionDropout<'a> {
    /// What identifies the application.
    pub key: DropoutKey,
    /// Of dropping an edge.
    pub probability: f64,
    /// Global id of each column; below 2^48.
    pub src_ids: &'a [i64],
    /// Global id of each row; below 2^48.
    pub dst_ids: &'a [i64],
}

impl AttentionDropout<'_> {
    /// 0, or the factor that keeps the expectation.
    fn factor<T: Real>(&self, EdgeHead { src, dst, head }: EdgeHead) -> T {
        let DropoutKey { seed, epoch, layer } = self.key;
        let (src, dst) = (self.src_ids[src] as u64, self.dst_ids[dst] as u64);
        let high = (src >> 32) as u32 | ((dst >> 32) as u32) << 16;
        // The top bit keeps these counters apart from those of node dropout.
        let place = 1 << 31 | layer << 16 | (head / 4) as u32;
        let key = [seed as u32, (seed >> 32) as u32 ^ epoch];
        let draw = philox4x32([src as u32, dst as u32, high, place], key)[head % 4];
        let kept = f64::from(draw) >= self.probability * 2f64.powi(32);
        if kept { T::from_f64(1.0 / (1.0 - self.probability)) } else { T::default() }
    }
}

/// Attention along the edges of one shard.
pub struct Attention<'a, T, S> {
    /// How edges are scored.
    pub score: S,
    /// The rows that are summed, `[num_cols, heads * width]`.
    pub messages: &'a [T],
    /// Number of heads.
    pub heads: usize,
    /// Columns of a head.
    pub width: usize,
    /// Whether edges are dropped.
    pub dropout: Option<AttentionDropout<'a>>,
}

/// What the adjoint needs of a destination.
#[derive(Clone, Copy)]
pub struct Destinations<'a, T> {
    /// Logarithm of the sum of exponentials of scores, `[num_rows, heads]`.
    pub log_sum: &'a [T],
    /// `<gy, y>` per head, `[num_rows, heads]`.
    pub delta: &'a [T],
    /// Gradient of the result, `[num_rows, heads * width]`.
    pub gy: &'a [T],
}

impl<T: Real, S: Score<T>> Attention<'_, T, S> {
    fn columns(&self) -> usize {
        self.heads * self.width
    }

    fn factor(&self, edge: EdgeHead) -> T {
        self.dropout.map_or(T::ONE, |dropout| dropout.factor(edge))
    }

    /// Takes the edges of `by_dst` into the running state of its rows: largest score and sum of exponentials
    /// (`[num_rows, heads]`; -infinity and 0 at the start), and weighted sum (`[num_rows, heads * width]`).
    ///
    /// Once all shards are in, the result is the weighted sum over the sum of exponentials.
    pub fn accumulate(&self, by_dst: &Csr, largest: &mut [T], sum: &mut [T], weighted: &mut [T]) {
        let state = (Rows::new(largest, self.heads), Rows::new(sum, self.heads));
        let result = (state, Rows::new(weighted, self.columns()));
        for_row_blocks(by_dst, result, self.columns(), &|block: Block<_>| {
            let ((mut largest, mut sum), mut weighted): ((Rows<'_, T>, Rows<'_, T>), Rows<'_, T>) =
                block.result;
            let mut scores = vec![T::default(); CHUNK * self.heads];
            for i in block.rows {
                let dst = by_dst.rows()[i] as usize;
                let row = dst - block.first;
                for columns in by_dst.columns(i).chunks(CHUNK) {
                    self.score_chunk(columns, dst, &mut scores);
                    let state = (largest.row(row), sum.row(row), weighted.row(row));
                    self.add_chunk(columns, dst, &scores, state);
                }
            }
        });
    }

    fn score_chunk(&self, columns: &[u32], dst: usize, scores: &mut [T]) {
        for (&src, scores) in columns.iter().zip(scores.chunks_exact_mut(self.heads)) {
            for (head, score) in scores.iter_mut().enumerate() {
                *score = self.score.score(EdgeHead { src: src as usize, dst, head });
            }
        }
    }

    fn add_chunk(
        &self,
        columns: &[u32],
        dst: usize,
        scores: &[T],
        (largest, sum, weighted): (&mut [T], &mut [T], &mut [T]),
    ) {
        for head in 0..self.heads {
            let scores = || scores.iter().skip(head).step_by(self.heads).take(columns.len());
            let new = scores().fold(largest[head], |a, b| a.max(*b));
            let weighted = &mut weighted[head * self.width..][..self.width];
            // Of nothing: exp(-infinity - x) is 0.
            let shrink = (largest[head] - new).exp();
            sum[head] *= shrink;
            for w in &mut *weighted {
                *w *= shrink;
            }
            largest[head] = new;
            for (&src, score) in columns.iter().zip(scores()) {
                let src = src as usize;
                let exponential = (*score - new).exp();
                sum[head] += exponential;
                let factor = exponential * self.factor(EdgeHead { src, dst, head });
                let message =
                    &self.messages[src * self.columns() + head * self.width..][..self.width];
                for (w, m) in weighted.iter_mut().zip(message) {
                    *w += factor * *m;
                }
            }
        }
    }

    /// An edge's attention after dropout, and the gradient of its score.
    fn attention(&self, edge: EdgeHead, of: Destinations<'_, T>) -> (T, T) {
        let EdgeHead { src, dst, head } = edge;
        let at = dst * self.heads + head;
        let attention = (self.score.score(edge) - of.log_sum[at]).exp();
        let part = head * self.width;
        let message = &self.messages[src * self.columns() + part..][..self.width];
        let gy = &of.gy[dst * self.columns() + part..][..self.width];
        let product: T = dot(gy, message);
        let factor = self.factor(edge);
        (attention * factor, attention * (factor * product - of.delta[at]))
    }

    /// Adds the gradient of the destinations' inputs, `[num_rows, score.dst_width()]`.
    pub fn destination_adjoint(&self, by_dst: &Csr, of: Destinations<'_, T>, gdst: &mut [T]) {
        let gdst = Rows::new(gdst, self.score.dst_width());
        for_row_blocks(by_dst, gdst, self.columns(), &|mut block: Block<Rows<'_, T>>| {
            for i in block.rows {
                let dst = by_dst.rows()[i] as usize;
                let gdst = block.result.row(dst - block.first);
                for &src in by_dst.columns(i) {
                    for head in 0..self.heads {
                        let edge = EdgeHead { src: src as usize, dst, head };
                        let (_, ds) = self.attention(edge, of);
                        self.score.add_dst(edge, ds, gdst);
                    }
                }
            }
        });
    }

    /// Adds the gradients of the messages, `[num_cols, heads * width]`, and of the sources' other inputs,
    /// `[num_cols, score.src_width()]`. `by_src` is the transpose of what the forward pass walked.
    pub fn source_adjoint(
        &self,
        by_src: &Csr,
        of: Destinations<'_, T>,
        gz: &mut [T],
        gsrc: &mut [T],
    ) {
        let result = (Rows::new(gz, self.columns()), Rows::new(gsrc, self.score.src_width()));
        for_row_blocks(by_src, result, self.columns(), &|block: Block<_>| {
            let (mut gz, mut gsrc): (Rows<'_, T>, Rows<'_, T>) = block.result;
            for i in block.rows {
                let src = by_src.rows()[i] as usize;
                let (gz, gsrc) = (gz.row(src - block.first), gsrc.row(src - block.first));
                for &dst in by_src.columns(i) {
                    for head in 0..self.heads {
                        let edge = EdgeHead { src, dst: dst as usize, head };
                        let (attention, ds) = self.attention(edge, of);
                        let gz = &mut gz[head * self.width..][..self.width];
                        let gy = dst as usize * self.columns() + head * self.width;
                        for (gz, gy) in gz.iter_mut().zip(&of.gy[gy..][..self.width]) {
                            *gz += attention * *gy;
                        }
                        self.score.add_src(edge, ds, gz, gsrc);
                    }
                }
            }
        });
    }
}

/// The inner product, in eight partial sums so that it can be vectorised.
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::default(); 8];
    let (a, b) = (a.chunks(8), b.chunks(8));
    for (a, b) in a.zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += *a * *b;
        }
    }
    sums.into_iter().sum()
}
