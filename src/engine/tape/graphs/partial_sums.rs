//! Sums over rows that a rank sends in place of the rows.

use tch::{Kind, Tensor};

use crate::engine::spill::{Pointer, ShardPointer};
use crate::engine::tape::ops::aggregate::{Factors, spmm};
use crate::engine::tensor;
use crate::words::error::Result;

/// Sums over own rows for another rank.
pub(in crate::engine::tape) struct PartialSums {
    /// By destination: edges from own rows into the sums. By source: edges from `sources`.
    pub(super) edges: ShardPointer,
    /// Own rows that have an edge, ascending.
    pub(super) sources: Pointer<Vec<u32>>,
    /// Whether the edges have weights.
    pub(super) weighted: bool,
}

impl PartialSums {
    /// Number of sums.
    pub(super) fn len(&self) -> usize {
        self.edges.num_destinations()
    }

    /// The sums over rows of `x`, in its type.
    pub(super) fn of(&self, x: &Tensor) -> Result<Tensor> {
        let edges = self.edges.by_dst()?;
        let mut sums = tensor::zeros(&[self.len() as i64, x.size()[1]], x.kind())?;
        spmm(&edges.ends, &Factors::of_edges(&edges, self.weighted)?, x, &mut sums)?;
        Ok(sums)
    }

    /// Gradient of the rows of `sources`, from the gradient of the sums.
    pub(super) fn adjoint(&self, sums: &Tensor) -> Result<Tensor> {
        let edges = self.edges.by_src()?;
        let kind = if sums.kind() == Kind::BFloat16 { Kind::Float } else { sums.kind() };
        let mut rows = tensor::zeros(&[self.sources.len() as i64, sums.size()[1]], kind)?;
        spmm(&edges.ends, &Factors::of_edges(&edges, self.weighted)?, sums, &mut rows)?;
        Ok(rows)
    }
}
