//! Softmax of one value per edge (and head) over the in-edges of each destination.

use super::blocks::{RowBlock, Rows, SplitRows, for_row_blocks};
use super::real::Real;
use crate::graph::Csr;

/// The edges of one shard by destination, with one row of `heads` values per edge. Two passes over the shards:
/// [accumulate](EdgeSoftmax::accumulate) each, then [normalise](EdgeSoftmax::normalise) each.
pub struct EdgeSoftmax<'a> {
    /// The structure.
    pub by_dst: &'a Csr,
    /// Number of values per edge, each with its own softmax.
    pub heads: usize,
}

impl EdgeSoftmax<'_> {
    /// Adds scores (`[edges, heads]`) to each destination's largest score and sum of exponentials (`[num_rows, heads]`;
    /// -infinity and 0 at the start).
    pub fn accumulate<T: Real>(&self, scores: &[T], largest: &mut [T], sum: &mut [T]) {
        assert_eq!(scores.len(), self.by_dst.num_entries() * self.heads);
        let state = (Rows::new(largest, self.heads), Rows::new(sum, self.heads));
        for_row_blocks(self.by_dst, state, self.heads, &|block: RowBlock<(Rows<T>, Rows<T>)>| {
            let (mut largest, mut sum) = block.result;
            for i in block.rows {
                let row = self.by_dst.rows()[i] as usize - block.first;
                let state = largest.row(row).iter_mut().zip(sum.row(row));
                for (head, (largest, sum)) in state.enumerate() {
                    let scores = || self.of(scores, i).iter().skip(head).step_by(self.heads);
                    let new = scores().fold(*largest, |a, b| a.max(*b));
                    if new == T::NEG_INFINITY && scores().all(|score| *score == new) {
                        // Differences of infinities are not numbers.
                        continue;
                    }
                    // For an empty state, exp(-infinity - x) is 0.
                    *sum *= (*largest - new).exp();
                    *sum += scores().map(|score| (*score - new).exp()).sum();
                    *largest = new;
                }
            }
        });
    }

    /// `y = exp(score - largest) / sum`, `[edges, heads]`.
    pub fn normalise<T: Real>(&self, scores: &[T], largest: &[T], sum: &[T], y: &mut [T]) {
        self.map(y, |i, dst, y| {
            let state = dst * self.heads..(dst + 1) * self.heads;
            let (largest, sum) = (&largest[state.clone()], &sum[state]);
            for (place, (y, score)) in y.iter_mut().zip(self.of(scores, i)).enumerate() {
                let head = place % self.heads;
                *y = (*score - largest[head]).exp() / sum[head];
            }
        });
    }

    /// The first half of the adjoint: `delta[v] += sum of y gy` over its in-edges, `[num_rows, heads]`.
    pub fn inner_products<T: Real>(&self, y: &[T], gy: &[T], delta: &mut [T]) {
        assert_eq!(y.len(), self.by_dst.num_entries() * self.heads);
        let delta = Rows::new(delta, self.heads);
        for_row_blocks(self.by_dst, delta, self.heads, &|mut block: RowBlock<Rows<T>>| {
            for i in block.rows {
                let delta = block.result.row(self.by_dst.rows()[i] as usize - block.first);
                for (place, (y, gy)) in self.of(y, i).iter().zip(self.of(gy, i)).enumerate() {
                    delta[place % self.heads] += *y * *gy;
                }
            }
        });
    }

    /// The second half: the gradient of a score is `y (gy - delta[v])`.
    pub fn adjoint<T: Real>(&self, y: &[T], gy: &[T], delta: &[T], gscores: &mut [T]) {
        self.map(gscores, |i, dst, gscores| {
            let delta = &delta[dst * self.heads..][..self.heads];
            let outputs = self.of(y, i).iter().zip(self.of(gy, i));
            for (place, (gscore, (y, gy))) in gscores.iter_mut().zip(outputs).enumerate() {
                *gscore = *y * (*gy - delta[place % self.heads]);
            }
        });
    }

    /// The values of the edges of `rows()[i]`.
    fn of<'v, T>(&self, values: &'v [T], i: usize) -> &'v [T] {
        let [begin, end] = [i, i + 1].map(|i| self.by_dst.indptr()[i] as usize * self.heads);
        &values[begin..end]
    }

    /// Calls `work` with the index of each stored row, its destination, and the values of its edges to fill in.
    fn map<T: Real>(&self, values: &mut [T], work: impl Fn(usize, usize, &mut [T]) + Sync) {
        assert_eq!(values.len(), self.by_dst.num_entries() * self.heads);
        let (graph, width) = (self.by_dst, self.heads);
        let values = EntryValues::new(graph, values, width);
        for_row_blocks(graph, values, width, &|mut block: RowBlock<EntryValues<T>>| {
            for i in block.rows {
                work(i, graph.rows()[i] as usize, block.result.of(i));
            }
        });
    }
}

/// A matrix with a row per entry of the graph, from row `first`'s entries on.
pub(super) struct EntryValues<'a, T> {
    graph: &'a Csr,
    first: usize,
    data: &'a mut [T],
    width: usize,
}

impl<'a, T> EntryValues<'a, T> {
    /// The values of all entries, `[num_entries, width]`.
    pub(super) fn new(graph: &'a Csr, data: &'a mut [T], width: usize) -> Self {
        EntryValues { graph, first: 0, data, width }
    }

    /// The index in all data at which a row's entries begin.
    fn begin(&self, row: usize) -> usize {
        let stored = self.graph.rows().partition_point(|r| (*r as usize) < row);
        self.graph.indptr()[stored] as usize * self.width
    }

    /// The entries of `rows()[i]`.
    pub(super) fn of(&mut self, i: usize) -> &mut [T] {
        let [begin, end] = [i, i + 1].map(|i| self.graph.indptr()[i] as usize * self.width);
        let first = self.begin(self.first);
        &mut self.data[begin - first..end - first]
    }
}

impl<T: Send> SplitRows for EntryValues<'_, T> {
    fn split(self, rows: usize) -> (Self, Self) {
        let boundary = self.first + rows;
        let middle = self.begin(boundary) - self.begin(self.first);
        let EntryValues { graph, first, data, width } = self;
        let (low, high) = data.split_at_mut(middle);
        (
            EntryValues { graph, first, data: low, width },
            EntryValues { graph, first: boundary, data: high, width },
        )
    }
}
