//! The edges of a shard, a bounded number at a time, as tensors.

use std::ops::Range;

use tch::Tensor;

use super::rows::gather;
use crate::error::Result;
use crate::graph::GraphShard;
use crate::tensor::{self, with_real};

/// Edges whose messages are computed at a time by one thread.
const EDGES: usize = 4096;

/// Chunks whose messages are in memory at a time.
pub(super) const CHUNKS_AT_ONCE: usize = 16;

/// Consecutive edges of a shard, in the order of `by_dst`.
pub(super) struct EdgeChunk<'s> {
    shard: &'s GraphShard,
    entries: Range<usize>,
    /// The destination of each.
    pub(super) dst: Vec<u32>,
}

/// All edges of a shard.
pub(super) fn chunks(shard: &GraphShard) -> impl Iterator<Item = EdgeChunk<'_>> {
    let edges = shard.by_dst.num_entries();
    (0..edges).step_by(EDGES).map(move |begin| {
        let entries = begin..(begin + EDGES).min(edges);
        let indptr = shard.by_dst.indptr();
        let mut row = indptr.partition_point(|&p| p <= begin as u64) - 1;
        let dst = entries.clone().map(|entry| {
            while indptr[row + 1] <= entry as u64 {
                row += 1;
            }
            shard.by_dst.rows()[row]
        });
        let dst = dst.collect();
        EdgeChunk { shard, entries, dst }
    })
}

impl EdgeChunk<'_> {
    /// The position of the first edge in its shard.
    pub(super) fn begin(&self) -> usize {
        self.entries.start
    }

    /// The source of each edge, as a column of the shard.
    pub(super) fn src(&self) -> &[u32] {
        &self.shard.by_dst.indices()[self.entries.clone()]
    }

    /// What a message is computed from: rows of both ends; values of the edges, of which those of the shard begin at row
    /// `first`; weights `[edges, 1]` and types `int64 [edges]`. What there is none of is an empty tensor.
    pub(super) fn inputs(
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
        let weights = self.shard.weights.as_ref().map_or(&[][..], |w| &w.by_dst[entries.clone()]);
        let types = self.shard.types.as_ref().map_or(&[][..], |t| &t.by_dst[entries]);
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
pub(super) fn add(values: &Tensor, rows: &[u32], x: &mut Tensor) -> Result<()> {
    let width = x.size()[1] as usize;
    let kind = x.kind();
    with_real!(kind, T => {
        let (values, x) = (tensor::slice::<T>(values), tensor::slice_mut::<T>(x));
        for (&row, values) in rows.iter().zip(values.chunks_exact(width)) {
            for (x, v) in x[row as usize * width..][..width].iter_mut().zip(values) {
                *x += *v;
            }
        }
        Ok(())
    })
}
