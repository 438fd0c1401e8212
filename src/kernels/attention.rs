//! Attention over neighbours: scores, softmax over in-edges and weighted sum in one pass over the edges.
//!
//! No matrix has a row per edge. The forward pass keeps a running maximum and sum per destination (Milakov and Gimelshein,
//! "Online normalizer calculation for softmax", 2018), so that shards can follow each other. The adjoint computes each edge's
//! attention again from its score and the destination's logarithm of the sum.

use super::attention_score::{EdgeHead, Score};
use super::blocks::{RowBlock, Rows, for_row_blocks};
use super::dropout::DropoutKey;
use super::philox::philox4x32;
use super::real::Real;
use super::simd::{Kernel, prefetch, vectorised};
use crate::graph::Csr;

/// Number of edges whose scores are held at a time, few enough for their rows to stay in the first-level cache.
const CHUNK: usize = 32;

/// Prefetch distance, in edges.
const AHEAD: usize = 32;

/// Dropout of attention as a function of (seed, epoch, layer, source, destination, head). Parallel edges are dropped together.
#[derive(Clone, Copy)]
pub struct AttentionDropout<'a> {
    /// Identifies this application of dropout.
    pub key: DropoutKey,
    /// Probability that an edge is dropped.
    pub probability: f64,
    /// Global id of each column; below 2^40.
    pub src_ids: &'a [i64],
    /// Global id of each row; below 2^40.
    pub dst_ids: &'a [i64],
}

impl AttentionDropout<'_> {
    /// The edge's factor: 0, or 1 / (1 - probability), which keeps the expectation.
    fn factor<T: Real>(&self, EdgeHead { src, dst, head }: EdgeHead) -> T {
        let DropoutKey { seed, epoch, layer } = self.key;
        let (src, dst) = (self.src_ids[src] as u64, self.dst_ids[dst] as u64);
        // The upper half of the layer is the relation.
        let high = (src >> 32) as u32 | ((dst >> 32) as u32) << 8 | layer >> 16 << 16;
        // The top bit keeps these counters apart from those of node dropout.
        let place = 1 << 31 | layer << 16 | (head / 4) as u32;
        let key = [seed as u32, (seed >> 32) as u32 ^ epoch];
        let draw = philox4x32([src as u32, dst as u32, high, place], key)[head % 4];
        let kept = f64::from(draw) >= self.probability * 2f64.powi(32);
        if kept { T::from_f64(1.0 / (1.0 - self.probability)) } else { T::default() }
    }
}

/// Attention along the edges of one shard, with the adjoints.
pub struct Attention<'a, T, S> {
    /// The score of an edge.
    pub score: S,
    /// Rows that are summed, `[num_cols, heads * width]`.
    pub messages: &'a [T],
    /// Number of heads.
    pub heads: usize,
    /// Columns of each head.
    pub width: usize,
    /// Dropout of edges, if any.
    pub dropout: Option<AttentionDropout<'a>>,
}

/// Values per destination that the adjoint needs.
#[derive(Clone, Copy)]
pub struct Destinations<'a, T> {
    /// Largest score, `[num_rows, heads]`.
    pub largest: &'a [T],
    /// Logarithm of the sum of the exponentials of scores less the largest one, `[num_rows, heads]`. Added to a large
    /// score, it would be rounded away.
    pub log_sum: &'a [T],
    /// `<gy, y>` per head, `[num_rows, heads]`.
    pub delta: &'a [T],
    /// Gradient of the result, `[num_rows, heads * width]`.
    pub gy: &'a [T],
}

impl<T: Real, S: Score<T>> Attention<'_, T, S> {
    #[inline(always)]
    fn columns(&self) -> usize {
        self.heads * self.width
    }

    #[inline(always)]
    fn factor(&self, edge: EdgeHead) -> T {
        self.dropout.map_or(T::ONE, |dropout| dropout.factor(edge))
    }

    /// Adds the edges of `by_dst` to the running state of its rows: `largest` score and `sum` of exponentials,
    /// `[num_rows, heads]`, at first -infinity and 0; `weighted` sum, `[num_rows, heads * width]`.
    ///
    /// The result after all shards is `weighted / sum`.
    pub fn accumulate(&self, by_dst: &Csr, largest: &mut [T], sum: &mut [T], weighted: &mut [T]) {
        let state = (Rows::new(largest, self.heads), Rows::new(sum, self.heads));
        let result = (state, Rows::new(weighted, self.columns()));
        for_row_blocks(by_dst, result, self.columns(), &|block| {
            vectorised(Accumulate { attention: self, by_dst, block });
        });
    }

    #[inline(always)]
    fn accumulate_block(&self, by_dst: &Csr, block: RowBlock<State<'_, T>>) {
        let ((mut largest, mut sum), mut weighted) = block.result;
        let mut scores = vec![T::default(); CHUNK * self.heads];
        for i in block.rows.clone() {
            let dst = by_dst.rows()[i] as usize;
            let row = dst - block.first;
            for (columns, ahead) in chunks(by_dst, i, block.rows.end) {
                for &src in ahead {
                    prefetch(self.row(self.messages, src as usize));
                    self.score.prefetch_src(src as usize);
                }
                for (&src, scores) in columns.iter().zip(scores.chunks_exact_mut(self.heads)) {
                    for (head, score) in scores.iter_mut().enumerate() {
                        *score = self.score.score(EdgeHead { src: src as usize, dst, head });
                    }
                }
                let scores = &mut scores[..columns.len() * self.heads];
                let weighted = weighted.row(row);
                self.add_chunk(columns, dst, scores, largest.row(row), sum.row(row), weighted);
            }
        }
    }

    #[inline(always)]
    fn row<'r>(&self, matrix: &'r [T], row: usize) -> &'r [T] {
        &matrix[row * self.columns()..][..self.columns()]
    }

    /// Adds edges of one row to its state; their scores are `[columns.len(), heads]`.
    #[inline(always)]
    fn add_chunk(
        &self,
        columns: &[u32],
        dst: usize,
        scores: &mut [T],
        largest: &mut [T],
        sum: &mut [T],
        weighted: &mut [T],
    ) {
        for (head, weighted) in weighted.chunks_exact_mut(self.width).enumerate() {
            let scores = || scores.iter().skip(head).step_by(self.heads);
            let new = scores().fold(largest[head], |a, b| a.max(*b));
            // For an empty state, exp(-infinity - x) is 0.
            let shrink = (largest[head] - new).exp();
            sum[head] *= shrink;
            for w in weighted {
                *w *= shrink;
            }
            largest[head] = new;
        }
        for scores in scores.chunks_exact_mut(self.heads) {
            for (score, largest) in scores.iter_mut().zip(&*largest) {
                *score = *score - *largest;
            }
        }
        for score in &mut *scores {
            *score = score.exp();
        }
        for (&src, exponentials) in columns.iter().zip(scores.chunks_exact(self.heads)) {
            let src = src as usize;
            let messages = self.row(self.messages, src).chunks_exact(self.width);
            let rows = weighted.chunks_exact_mut(self.width).zip(messages);
            for (head, (weighted, message)) in rows.enumerate() {
                sum[head] += exponentials[head];
                let factor = exponentials[head] * self.factor(EdgeHead { src, dst, head });
                for (w, m) in weighted.iter_mut().zip(message) {
                    *w += factor * *m;
                }
            }
        }
    }

    /// Attention after dropout, and gradient of the score, per edge (source, destination) and head.
    #[inline(always)]
    fn attention(
        &self,
        edges: impl Iterator<Item = (usize, usize)> + Clone,
        of: Destinations<'_, T>,
        attention: &mut [T],
        ds: &mut [T],
    ) {
        let places = || edges.clone().zip(0..);
        for ((src, dst), i) in places() {
            for head in 0..self.heads {
                let score = self.score.score(EdgeHead { src, dst, head });
                let place = dst * self.heads + head;
                attention[i * self.heads + head] = (score - of.largest[place]) - of.log_sum[place];
            }
        }
        let used = edges.clone().count() * self.heads;
        for value in &mut attention[..used] {
            *value = value.exp();
        }
        for ((src, dst), i) in places() {
            let gy = self.row(of.gy, dst).chunks_exact(self.width);
            let message = self.row(self.messages, src).chunks_exact(self.width);
            for (head, (gy, message)) in gy.zip(message).enumerate() {
                let factor = self.factor(EdgeHead { src, dst, head });
                let attention = &mut attention[i * self.heads + head];
                let delta = of.delta[dst * self.heads + head];
                ds[i * self.heads + head] = *attention * (factor * dot(gy, message) - delta);
                *attention *= factor;
            }
        }
    }

    /// Adds the gradient of the score's destination inputs, `[num_rows, score.dst_width()]`, to `gdst`.
    pub fn destination_adjoint(&self, by_dst: &Csr, of: Destinations<'_, T>, gdst: &mut [T]) {
        let gdst = Rows::new(gdst, self.score.dst_width());
        for_row_blocks(by_dst, gdst, self.columns(), &|block| {
            vectorised(DestinationAdjoint { attention: self, by_dst, of, block });
        });
    }

    #[inline(always)]
    fn destination_block(
        &self,
        by_dst: &Csr,
        of: Destinations<'_, T>,
        mut block: RowBlock<Rows<'_, T>>,
    ) {
        let mut attention = vec![T::default(); CHUNK * self.heads];
        let mut ds = attention.clone();
        for i in block.rows.clone() {
            let dst = by_dst.rows()[i] as usize;
            let gdst = block.result.row(dst - block.first);
            for (columns, ahead) in chunks(by_dst, i, block.rows.end) {
                for &src in ahead {
                    prefetch(self.row(self.messages, src as usize));
                    self.score.prefetch_src(src as usize);
                }
                let edges = columns.iter().map(|&src| (src as usize, dst));
                self.attention(edges, of, &mut attention, &mut ds);
                for (&src, ds) in columns.iter().zip(ds.chunks_exact(self.heads)) {
                    for (head, ds) in ds.iter().enumerate() {
                        let edge = EdgeHead { src: src as usize, dst, head };
                        self.score.add_dst(edge, *ds, gdst);
                    }
                }
            }
        }
    }

    /// Adds the gradients of the messages, `[num_cols, heads * width]`, and of the score's other source inputs,
    /// `[num_cols, score.src_width()]`. `by_src` is the transpose of the structure that the forward pass walked.
    pub fn source_adjoint(
        &self,
        by_src: &Csr,
        of: Destinations<'_, T>,
        gz: &mut [T],
        gsrc: &mut [T],
    ) {
        let result = (Rows::new(gz, self.columns()), Rows::new(gsrc, self.score.src_width()));
        for_row_blocks(by_src, result, self.columns(), &|block| {
            vectorised(SourceAdjoint { attention: self, by_src, of, block });
        });
    }

    #[inline(always)]
    fn source_block(
        &self,
        by_src: &Csr,
        of: Destinations<'_, T>,
        block: RowBlock<(Rows<'_, T>, Rows<'_, T>)>,
    ) {
        let (mut gz, mut gsrc) = block.result;
        let mut attention = vec![T::default(); CHUNK * self.heads];
        let mut ds = attention.clone();
        for i in block.rows.clone() {
            let src = by_src.rows()[i] as usize;
            let (gz, gsrc) = (gz.row(src - block.first), gsrc.row(src - block.first));
            for (columns, ahead) in chunks(by_src, i, block.rows.end) {
                for &dst in ahead {
                    let dst = dst as usize;
                    prefetch(self.row(of.gy, dst));
                    self.score.prefetch_dst(dst);
                    for values in [of.largest, of.log_sum, of.delta] {
                        prefetch(&values[dst * self.heads..][..self.heads]);
                    }
                }
                let edges = columns.iter().map(|&dst| (src, dst as usize));
                self.attention(edges, of, &mut attention, &mut ds);
                for (i, &dst) in columns.iter().enumerate() {
                    let gy = self.row(of.gy, dst as usize).chunks_exact(self.width);
                    let rows = gz.chunks_exact_mut(self.width).zip(gy);
                    for (head, (gz, gy)) in rows.enumerate() {
                        let place = i * self.heads + head;
                        for (gz, gy) in gz.iter_mut().zip(gy) {
                            *gz += attention[place] * *gy;
                        }
                        let edge = EdgeHead { src, dst: dst as usize, head };
                        self.score.add_src(edge, ds[place], gz, gsrc);
                    }
                }
            }
        }
    }
}

/// The columns of `rows()[i]` in chunks, each with the columns [`AHEAD`] entries later; these end before row `end`.
#[inline(always)]
fn chunks(graph: &Csr, i: usize, end: usize) -> impl Iterator<Item = (&[u32], &[u32])> {
    let [begin, end] = [i, end].map(|i| graph.indptr()[i] as usize);
    let rest = &graph.indices()[begin..end];
    graph.columns(i).chunks(CHUNK).enumerate().map(move |(number, columns)| {
        let first = (number * CHUNK + AHEAD).min(rest.len());
        (columns, &rest[first..(first + columns.len()).min(rest.len())])
    })
}

struct Accumulate<'s, A, T> {
    attention: &'s A,
    by_dst: &'s Csr,
    block: RowBlock<State<'s, T>>,
}

impl<T: Real, S: Score<T>> Kernel for Accumulate<'_, Attention<'_, T, S>, T> {
    #[inline(always)]
    fn run(self) {
        self.attention.accumulate_block(self.by_dst, self.block);
    }
}

struct DestinationAdjoint<'s, A, T> {
    attention: &'s A,
    by_dst: &'s Csr,
    of: Destinations<'s, T>,
    block: RowBlock<Rows<'s, T>>,
}

impl<T: Real, S: Score<T>> Kernel for DestinationAdjoint<'_, Attention<'_, T, S>, T> {
    #[inline(always)]
    fn run(self) {
        self.attention.destination_block(self.by_dst, self.of, self.block);
    }
}

struct SourceAdjoint<'s, A, T> {
    attention: &'s A,
    by_src: &'s Csr,
    of: Destinations<'s, T>,
    block: RowBlock<(Rows<'s, T>, Rows<'s, T>)>,
}

impl<T: Real, S: Score<T>> Kernel for SourceAdjoint<'_, Attention<'_, T, S>, T> {
    #[inline(always)]
    fn run(self) {
        self.attention.source_block(self.by_src, self.of, self.block);
    }
}

/// Largest score, sum of exponentials, and weighted sum, by row.
type State<'s, T> = ((Rows<'s, T>, Rows<'s, T>), Rows<'s, T>);

/// Inner product in partial sums, which vectorise.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 16;
    let mut sums = [T::default(); LANES];
    let (a_rest, b_rest) = (a.chunks_exact(LANES).remainder(), b.chunks_exact(LANES).remainder());
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: T = a_rest.iter().zip(b_rest).map(|(a, b)| *a * *b).sum();
    sums.into_iter().sum::<T>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_and_relations_drop_different_edges() {
        let ids: Vec<i64> = (0..64).collect();
        let factors = |layer: u32| -> Vec<f64> {
            let key = DropoutKey { seed: 3, epoch: 1, layer };
            let dropout = AttentionDropout { key, probability: 0.5, src_ids: &ids, dst_ids: &ids };
            (0..64).map(|i| dropout.factor(EdgeHead { src: i, dst: i, head: 0 })).collect()
        };
        let (layer, relation) = (factors(2), factors(1 | 1 << 16));
        assert!(factors(1) != layer && factors(1) != relation && layer != relation);
    }
}
