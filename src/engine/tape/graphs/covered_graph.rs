//! A graph whose remote sources are rows of nodes and partial sums.

use tch::{Kind, Tensor};

use super::exchange::{Exchange, Transfer, edges_of};
use super::graph::{Ends, Graph, MakeRows, Pulled, VisitRows, VisitShard};
use super::graph_shard_manager::GraphShardManager;
use super::row_layout::RowLayout;
use crate::engine::comm::{Collective, Operation};
use crate::engine::spill::{Pointer, ShardPointer};
use crate::engine::tape::ops::aggregate::{Factors, spmm};
use crate::engine::tensor;
use crate::error::{Error, Result};

/// The edges of a [`GraphShardManager`], prepared for sums. From each other rank, a rank receives rows of nodes, and
/// then sums that the other rank has made over its rows: a vertex cover of the edges between the two (SuperGCN).
pub(super) struct CoveredGraph {
    /// The graph whose remote sources are the received rows and sums. Its requested rows are the rows that are sent
    /// unchanged.
    pub(super) received: GraphShardManager,
    /// Sums that are sent to each rank.
    pub(super) sums: Vec<Option<PartialSums>>,
    /// Whether the edges have weights.
    pub(super) weighted: bool,
}

/// Sums over own rows for another rank.
pub(super) struct PartialSums {
    /// By destination: edges from own rows into the sums. By source: edges from `sources`.
    pub(super) edges: ShardPointer,
    /// Own rows that have an edge, ascending.
    pub(super) sources: Pointer<Vec<u32>>,
}

impl PartialSums {
    /// The sums over rows of `x`, in its type.
    fn of(&self, x: &Tensor, weighted: bool) -> Result<Tensor> {
        let edges = self.edges.by_dst()?;
        let mut sums =
            tensor::zeros(&[self.edges.num_destinations() as i64, x.size()[1]], x.kind())?;
        spmm(&edges.ends, &Factors::of_edges(&edges, weighted)?, x, &mut sums)?;
        Ok(sums)
    }

    /// Gradient of the rows of `sources`, from the gradient of the sums.
    fn adjoint(&self, sums: &Tensor, weighted: bool) -> Result<Tensor> {
        let edges = self.edges.by_src()?;
        let kind = if sums.kind() == Kind::BFloat16 { Kind::Float } else { sums.kind() };
        let mut rows = tensor::zeros(&[self.sources.len() as i64, sums.size()[1]], kind)?;
        spmm(&edges.ends, &Factors::of_edges(&edges, weighted)?, sums, &mut rows)?;
        Ok(rows)
    }
}

impl CoveredGraph {
    /// Number of sums that a rank receives.
    fn num_sums(&self, rank: usize) -> usize {
        self.sums[rank].as_ref().map_or(0, |sums| sums.edges.num_destinations())
    }
}

impl Graph for CoveredGraph {
    fn ends(&self) -> &Ends {
        self.received.ends()
    }

    fn exchange(&self) -> Option<&Exchange> {
        self.received.exchange()
    }

    fn local_shard(&self) -> &ShardPointer {
        self.received.local_shard()
    }

    fn shards(&self) -> Vec<&ShardPointer> {
        self.received.shards()
    }

    fn for_sums(&self, weighted: bool) -> Option<&dyn Graph> {
        (weighted == self.weighted).then_some(self)
    }

    fn pull(&self, parts: &[&Tensor], layout: &[RowLayout], keep: bool) -> Result<Transfer> {
        let GraphShardManager { exchange, requested, .. } = &self.received;
        exchange.post(Operation::PullRows, keep, |rank, outbox| {
            let rows = requested[rank].pin()?;
            parts.iter().zip(layout).try_for_each(|(part, layout)| {
                exchange.write_rows(part, &rows, layout, outbox)?;
                match &self.sums[rank] {
                    Some(sums) => exchange.write_part(&sums.of(part, self.weighted)?, outbox),
                    None => Ok(()),
                }
            })
        })
    }

    fn push(&self, kept: Option<Pulled<'_>>, make: &mut MakeRows<'_>) -> Result<Transfer> {
        self.received.push(kept, make)
    }

    fn pulled(
        &self,
        collective: Option<&Collective>,
        layout: &[RowLayout],
        visit: &mut VisitShard<'_>,
    ) -> Result<()> {
        self.received.pulled(collective, layout, visit)
    }

    fn pushed(
        &self,
        collective: Option<&Collective>,
        layout: &[RowLayout],
        visit: &mut VisitRows<'_>,
    ) -> Result<()> {
        let Some(collective) = collective else { return Ok(()) };
        let GraphShardManager { exchange, requested, .. } = &self.received;
        let layout = layout.iter().map(|rows| RowLayout::new(rows.width, rows.kind));
        let layout: Vec<_> = layout.collect();
        let sent = |rank: usize| requested[rank].len() + self.num_sums(rank);
        exchange.messages(collective, sent, &layout).try_for_each(|message| {
            let (rank, parts) = message?;
            let _span = edges_of(rank);
            let rows = requested[rank].len() as i64;
            let split = |from: i64, count: i64| {
                let parts = parts.iter().map(|part| part.f_narrow(0, from, count));
                Ok::<_, Error>(parts.collect::<std::result::Result<Vec<_>, _>>()?)
            };
            visit(&requested[rank].pin()?, &split(0, rows)?)?;
            let Some(sums) = &self.sums[rank] else { return Ok(()) };
            let parts = split(rows, self.num_sums(rank) as i64)?;
            let parts = parts.iter().map(|part| sums.adjoint(part, self.weighted));
            visit(&sums.sources.pin()?, &parts.collect::<Result<Vec<_>>>()?)
        })
    }
}
