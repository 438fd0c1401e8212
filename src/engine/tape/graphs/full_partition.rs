//! A partition's graph as one block, for one-shot aggregation.

use std::ops::Range;

use tch::Tensor;

use super::edge_inputs::EdgeInputs;
use super::exchange::Exchange;
use super::graph::{Ends, Graph, MakeRows, Pulled, VisitRows, VisitShard};
use super::graph_shard_manager::GraphShardManager;
use super::row_layout::RowLayout;
use crate::engine::comm::{Collective, Operation, Posted};
use crate::engine::spill::ShardPointer;
use crate::engine::tensor;
use crate::graph::ShardBuilder;
use crate::words::error::{Error, Result};

/// All edges into a partition, with the rows of all sources in memory at once: SAR's one-shot aggregation.
///
/// A [`GraphShardManager`] reads the rows of one rank after the other. This graph gathers the rows of all other ranks
/// (the halo) and passes them to an operation together, after the partition's own rows. Layers run on it as on any
/// [`Graph`], with the same results.
///
/// It takes more memory: an aggregation holds halo nodes x width elements (as many gradients in the backward pass)
/// instead of the largest rank's rows, and the structure is in memory twice. In return it avoids a pass over the
/// destinations per rank.
pub struct FullPartitionGraph<'g> {
    graph: &'g GraphShardManager,
    /// Edges from all other ranks; columns are the columns of their shards, rank by rank.
    halo: ShardPointer,
    /// The columns of each rank; empty for the own rank.
    columns: Vec<Range<usize>>,
    edge_inputs: Option<EdgeInputs>,
}

impl GraphShardManager {
    /// Creates this partition's graph as one block: SAR's `get_full_partition_graph`. No collective.
    ///
    /// # Errors
    /// If the partition has edges from more than 2^32 nodes of other ranks.
    pub fn get_full_partition_graph(&self) -> Result<FullPartitionGraph<'_>> {
        let rank = self.exchange.group.rank();
        let num_destinations = self.num_destinations();
        let rows: Vec<u32> = (0..num_destinations as u32).collect();
        let mut edges = ShardBuilder::default();
        let mut columns = Vec::new();
        let mut end = 0;
        for (source, shard) in self.shards.iter().enumerate() {
            let begin = end;
            if source != rank {
                end += shard.num_sources();
                if u32::try_from(end).is_err() {
                    let problem =
                        "a partition has edges from more than 2^32 nodes of other partitions";
                    return Err(Error::config("one-shot aggregation", problem));
                }
                edges.append(shard.by_dst()?.edges_into(&rows, |column| begin as u32 + column));
            }
            columns.push(begin..end);
        }
        let (halo, _) = edges.build(num_destinations, end, true)?;
        let halo = self.exchange.manager.track_shard("shard", halo);
        let shards = || vec![self.local_shard(), &halo];
        let rows = |source| EdgeInputs::new(&self.exchange.manager, shards(), source);
        let edge_inputs = self.edge_source.as_ref().map(rows);
        Ok(FullPartitionGraph { graph: self, halo, columns, edge_inputs })
    }
}

impl FullPartitionGraph<'_> {
    /// Receives the rows of all other ranks.
    fn receive(&self, collective: &Collective, layout: &[RowLayout]) -> Result<Vec<Tensor>> {
        let rows = self.columns.last().map_or(0, |columns| columns.end) as i64;
        let empty = |part: &RowLayout| tensor::empty(&[rows, part.width as i64], part.kind);
        let parts = layout.iter().map(empty).collect::<Result<Vec<_>>>()?;
        for message in self.graph.messages_of_sources(collective, layout) {
            let (rank, received) = message?;
            let Range { start, end } = self.columns[rank];
            for (part, received) in parts.iter().zip(received) {
                part.f_narrow(0, start as i64, (end - start) as i64)?.f_copy_(&received)?;
            }
        }
        Ok(parts)
    }
}

impl Graph for FullPartitionGraph<'_> {
    fn ends(&self) -> &Ends {
        self.graph.ends()
    }

    fn exchange(&self) -> Option<&Exchange> {
        self.graph.exchange()
    }

    fn edge_inputs(&self) -> Option<&EdgeInputs> {
        self.edge_inputs.as_ref()
    }

    fn local_shard(&self) -> &ShardPointer {
        self.graph.local_shard()
    }

    fn shards(&self) -> Vec<&ShardPointer> {
        vec![self.local_shard(), &self.halo]
    }

    fn pull(&self, parts: &[&Tensor], layout: &[RowLayout], keep: bool) -> Result<Option<Posted>> {
        self.graph.pull(parts, layout, keep)
    }

    fn push(&self, kept: Option<Pulled<'_>>, make: &mut MakeRows<'_>) -> Result<Option<Posted>> {
        let mut parts = Vec::new();
        if self.graph.exchange.others().next().is_some() {
            let pulled = kept.map(|Pulled { collective, layout }| self.receive(collective, layout));
            parts = make(&self.halo, &pulled.transpose()?.unwrap_or_default())?;
        }
        self.graph.exchange.post(Operation::PushRows, false, |rank, outbox| {
            let Range { start, end } = self.columns[rank];
            parts.iter().try_for_each(|part| {
                let rows = part.f_narrow(0, start as i64, (end - start) as i64)?;
                self.graph.exchange.write_part(&rows, outbox)
            })
        })
    }

    fn pulled(
        &self,
        collective: Option<&Collective>,
        layout: &[RowLayout],
        visit: &mut VisitShard<'_>,
    ) -> Result<()> {
        let Some(collective) = collective else { return Ok(()) };
        let parts = self.receive(collective, layout)?;
        visit(&self.halo, &parts)
    }

    fn pushed(
        &self,
        collective: Option<&Collective>,
        layout: &[RowLayout],
        visit: &mut VisitRows<'_>,
    ) -> Result<()> {
        self.graph.pushed(collective, layout, visit)
    }
}
