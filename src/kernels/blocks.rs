//! Work on the rows of a sparse matrix, spread over threads in blocks of equal weight.

use std::ops::Range;

use crate::graph::Csr;

/// Number of touched elements below which a block does not pay for a thread.
const GRAIN: usize = 1 << 18;

/// A kernel's output: matrices with a row for every row of the graph.
pub(super) trait SplitRows: Send + Sized {
    /// Splits off the first rows from the rest.
    fn split(self, rows: usize) -> (Self, Self);
}

/// A matrix by rows.
pub(super) struct Rows<'a, T> {
    data: &'a mut [T],
    width: usize,
}

impl<'a, T> Rows<'a, T> {
    pub(super) fn new(data: &'a mut [T], width: usize) -> Self {
        Rows { data, width }
    }

    #[inline(always)]
    pub(super) fn row(&mut self, row: usize) -> &mut [T] {
        &mut self.data[row * self.width..][..self.width]
    }
}

impl<T: Send> SplitRows for Rows<'_, T> {
    fn split(self, rows: usize) -> (Self, Self) {
        let (low, high) = self.data.split_at_mut(rows * self.width);
        (Rows::new(low, self.width), Rows::new(high, self.width))
    }
}

impl<A: SplitRows, B: SplitRows> SplitRows for (A, B) {
    fn split(self, rows: usize) -> (Self, Self) {
        let (a, b) = (self.0.split(rows), self.1.split(rows));
        ((a.0, b.0), (a.1, b.1))
    }
}

/// A range of stored rows of a matrix, and the part of the result that begins at result row `first`.
pub(super) struct RowBlock<R> {
    pub(super) rows: Range<usize>,
    pub(super) first: usize,
    pub(super) result: R,
}

/// Runs `work` on blocks that together cover all stored rows; each block gets the part of the result from its first
/// stored row on. An entry touches about `width` elements.
pub(super) fn for_row_blocks<R: SplitRows>(
    graph: &Csr,
    result: R,
    width: usize,
    work: &(dyn Fn(RowBlock<R>) + Sync),
) {
    divide(graph, width, RowBlock { rows: 0..graph.rows().len(), first: 0, result }, work);
}

fn divide<R: SplitRows>(
    graph: &Csr,
    width: usize,
    block: RowBlock<R>,
    work: &(dyn Fn(RowBlock<R>) + Sync),
) {
    let rows = block.rows.clone();
    let indptr = graph.indptr();
    let (begin, end) = (indptr[rows.start], indptr[rows.end]);
    let touched = (end - begin) as usize + rows.len();
    if rows.len() < 2 || touched * width < GRAIN {
        return work(block);
    }
    let half = begin + (end - begin) / 2;
    let middle = rows.start + indptr[rows.clone()].partition_point(|&p| p < half);
    let middle = middle.clamp(rows.start + 1, rows.end - 1);
    let boundary = graph.rows()[middle] as usize;
    let (low, high) = block.result.split(boundary - block.first);
    let low = RowBlock { rows: rows.start..middle, first: block.first, result: low };
    let high = RowBlock { rows: middle..rows.end, first: boundary, result: high };
    rayon::join(|| divide(graph, width, low, work), || divide(graph, width, high, work));
}
