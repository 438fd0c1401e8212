//! Attention scores of edges, before the softmax.

use super::real::Real;
use super::simd::prefetch;

/// One head of an edge.
#[derive(Debug, Clone, Copy)]
pub struct EdgeHead {
    /// Column of the edge: its source node.
    pub src: usize,
    /// Row of the edge: its destination node.
    pub dst: usize,
    /// Index of the head.
    pub head: usize,
}

/// Score per edge and head, with its adjoint.
pub trait Score<T: Real>: Sync {
    /// Number of gradient columns per source row beyond the message's own.
    fn src_width(&self) -> usize;

    /// Number of gradient columns per destination row.
    fn dst_width(&self) -> usize;

    /// Prefetches what the score reads for a source besides its message.
    fn prefetch_src(&self, src: usize);

    /// Prefetches what the score reads for a destination.
    fn prefetch_dst(&self, dst: usize);

    /// The score of an edge for one head.
    fn score(&self, edge: EdgeHead) -> T;

    /// Adds the gradients of the source, given the score's gradient `ds`: `gz` belongs to the head's part of its
    /// message, `gsrc` to the score's other inputs.
    fn add_src(&self, edge: EdgeHead, ds: T, gz: &mut [T], gsrc: &mut [T]);

    /// Adds the gradient of the destination, given the score's gradient `ds`.
    fn add_dst(&self, edge: EdgeHead, ds: T, gdst: &mut [T]);
}

/// `leaky_relu(src[u, h] + dst[v, h])`, as in GAT (Veličković et al., ICLR 2018).
pub struct AdditiveScore<'a, T> {
    /// Scores of the sources, `[num_cols, heads]`.
    pub src: &'a [T],
    /// Scores of the destinations, `[num_rows, heads]`.
    pub dst: &'a [T],
    /// Number of heads.
    pub heads: usize,
    /// Slope of the leaky ReLU's negative half.
    pub slope: T,
}

impl<T: Real> AdditiveScore<'_, T> {
    #[inline(always)]
    fn sum(&self, EdgeHead { src, dst, head }: EdgeHead) -> T {
        self.src[src * self.heads + head] + self.dst[dst * self.heads + head]
    }
}

impl<T: Real> Score<T> for AdditiveScore<'_, T> {
    #[inline(always)]
    fn src_width(&self) -> usize {
        self.heads
    }

    #[inline(always)]
    fn dst_width(&self) -> usize {
        self.heads
    }

    #[inline(always)]
    fn prefetch_src(&self, src: usize) {
        prefetch(&self.src[src * self.heads..][..self.heads]);
    }

    #[inline(always)]
    fn prefetch_dst(&self, dst: usize) {
        prefetch(&self.dst[dst * self.heads..][..self.heads]);
    }

    #[inline(always)]
    fn score(&self, edge: EdgeHead) -> T {
        leaky_relu(self.sum(edge), self.slope)
    }

    #[inline(always)]
    fn add_src(&self, edge: EdgeHead, ds: T, _: &mut [T], gsrc: &mut [T]) {
        gsrc[edge.head] += ds * leaky_relu_slope(self.sum(edge), self.slope);
    }

    #[inline(always)]
    fn add_dst(&self, edge: EdgeHead, ds: T, gdst: &mut [T]) {
        gdst[edge.head] += ds * leaky_relu_slope(self.sum(edge), self.slope);
    }
}

/// `<vector[h], leaky_relu(src[u, h] + dst[v, h])>` over the columns of a head, as in GATv2 (Brody, Alon and Yahav,
/// ICLR 2022). `src` holds the messages.
pub struct DynamicScore<'a, T> {
    /// Rows of the sources, `[num_cols, heads * width]`.
    pub src: &'a [T],
    /// Rows of the destinations, `[num_rows, heads * width]`.
    pub dst: &'a [T],
    /// The attention vector, `[heads * width]`.
    pub vector: &'a [T],
    /// Columns of each head.
    pub width: usize,
    /// Slope of the leaky ReLU's negative half.
    pub slope: T,
}

impl<T: Real> DynamicScore<'_, T> {
    /// The sum, and the vector's element, for each column of the edge's head.
    #[inline(always)]
    fn terms(&self, EdgeHead { src, dst, head }: EdgeHead) -> impl Iterator<Item = (T, T)> {
        let (all, at) = (self.vector.len(), head * self.width);
        let src = &self.src[src * all + at..][..self.width];
        let dst = &self.dst[dst * all + at..][..self.width];
        let sums = src.iter().zip(dst).map(|(s, d)| *s + *d);
        sums.zip(self.vector[at..][..self.width].iter().copied())
    }
}

impl<T: Real> Score<T> for DynamicScore<'_, T> {
    #[inline(always)]
    fn src_width(&self) -> usize {
        0
    }

    /// First the destination's gradient, then the vector's.
    #[inline(always)]
    fn dst_width(&self) -> usize {
        2 * self.vector.len()
    }

    #[inline(always)]
    fn prefetch_src(&self, _: usize) {}

    #[inline(always)]
    fn prefetch_dst(&self, dst: usize) {
        let all = self.vector.len();
        prefetch(&self.dst[dst * all..][..all]);
    }

    #[inline(always)]
    fn score(&self, edge: EdgeHead) -> T {
        self.terms(edge).map(|(sum, a)| a * leaky_relu(sum, self.slope)).sum()
    }

    #[inline(always)]
    fn add_src(&self, edge: EdgeHead, ds: T, gz: &mut [T], _: &mut [T]) {
        for (gz, (sum, a)) in gz.iter_mut().zip(self.terms(edge)) {
            *gz += ds * a * leaky_relu_slope(sum, self.slope);
        }
    }

    #[inline(always)]
    fn add_dst(&self, edge: EdgeHead, ds: T, gdst: &mut [T]) {
        let at = edge.head * self.width;
        let (own, vector) = gdst.split_at_mut(self.vector.len());
        let pairs = own[at..].iter_mut().zip(&mut vector[at..]);
        for ((own, vector), (sum, a)) in pairs.zip(self.terms(edge)) {
            *own += ds * a * leaky_relu_slope(sum, self.slope);
            *vector += ds * leaky_relu(sum, self.slope);
        }
    }
}

#[inline(always)]
fn leaky_relu<T: Real>(x: T, slope: T) -> T {
    if x > T::default() { x } else { slope * x }
}

#[inline(always)]
fn leaky_relu_slope<T: Real>(x: T, slope: T) -> T {
    if x > T::default() { T::ONE } else { slope }
}
