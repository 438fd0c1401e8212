//! The edges of a shard as tensors, a bounded number at a time.

use std::ops::Range;

use tch::Tensor;

use super::rows::gather;
use crate::engine::tensor;
use crate::engine::tensor::with_real;
use crate::graph::SortedEdges;
use crate::words::error::Result;

/// Number of edges whose messages one thread computes at a time.
const EDGES: usize = 4096;

/// Number of chunks whose messages are in memory at a time.
pub(in crate::engine::tape) const CHUNKS_AT_ONCE: usize = 16;

/// Consecutive edges of a shard, sorted by destination.
pub(in crate::engine::tape) struct EdgeChunk<'s> {
    edges: &'s SortedEdges,
    entries: Range<usize>,
    /// Destination of each edge.
    pub(in crate::engine::tape) dst: Vec<u32>,
}

/// All edges of a shard.
pub(in crate::engine::tape) fn chunks(edges: &SortedEdges) -> impl Iterator<Item = EdgeChunk<'_>> {
    let count = edges.ends.num_entries();
    (0..count).step_by(EDGES).map(move |begin| {
        let entries = begin..(begin + EDGES).min(count);
        let indptr = edges.ends.indptr();
        let mut row = indptr.partition_point(|&p| p as usize <= begin) - 1;
        let dst = entries.clone().map(|entry| {
            while indptr[row + 1] as usize <= entry {
                row += 1;
            }
            edges.ends.rows()[row]
        });
        let dst = dst.collect();
        EdgeChunk { edges, entries, dst }
    })
}

impl EdgeChunk<'_> {
    /// The index of the first edge in its shard.
    pub(in crate::engine::tape) fn begin(&self) -> usize {
        self.entries.start
    }

    /// The source of each edge, as a column of the shard.
    pub(in crate::engine::tape) fn src(&self) -> &[u32] {
        &self.edges.ends.indices()[self.entries.clone()]
    }

    /// The inputs of a message: rows of both ends; values of the edges, where those of the shard begin at row `first`; weights
    /// `[edges, 1]` and types `int64 [edges]`. Inputs that the graph does not have are empty tensors.
    pub(in crate::engine::tape) fn inputs(
        &self,
        [src, dst]: [&Tensor; 2],
        edge: Option<&Tensor>,
        first: i64,
    ) -> Result<Vec<Tensor>> {
        let kind = src.kind();
        let (begin, len) = (first + self.begin() as i64, self.dst.len() as i64);
        let edge = match edge {
            Some(edge) => edge.f_narrow(0, begin, len)?,
            None => tensor::empty(&[0, 0], kind)?,
        };
        let entries = self.entries.clone();
        let weights = self.edges.weights.as_ref().map_or(&[][..], |w| &w[entries.clone()]);
        let types = self.edges.types.as_ref().map_or(&[][..], |t| &t[entries]);
        let types: Vec<i64> = types.iter().map(|t| i64::from(*t)).collect();
        Ok(vec![
            gather(src, self.src())?,
            gather(dst, &self.dst)?,
            edge,
            Tensor::f_from_slice(weights)?.f_to_kind(kind)?.f_view([-1, 1])?,
            Tensor::f_from_slice(&types)?,
        ])
    }
}

/// `x[rows[i]] += values[i]`, one after the other; rows may repeat and come in any order.
pub(in crate::engine::tape) fn add(values: &Tensor, rows: &[u32], x: &mut Tensor) -> Result<()> {
    let width = x.size()[1] as usize;
    let kind = x.kind();
    with_real!(kind, T => {
        let (values, x) = (&tensor::slice::<T>(values), &mut tensor::slice_mut::<T>(x));
        for (&row, values) in rows.iter().zip(values.chunks_exact(width)) {
            for (x, v) in x[row as usize * width..][..width].iter_mut().zip(values) {
                *x += *v;
            }
        }
        Ok(())
    })
}
