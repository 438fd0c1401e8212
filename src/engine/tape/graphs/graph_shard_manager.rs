//! A graph that is partitioned among the ranks.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::edge_inputs::{EdgeInputs, EdgeSource};
use super::exchange::{Exchange, edges_of};
use super::graph::{Ends, Graph, MakeRows, Pulled, VisitRows, VisitShard, unknown_degrees};
use super::partial_sums::PartialSums;
use super::requests::{Requests, exchange_requests};
use super::row_layout::RowLayout;
use crate::engine::comm::{Collective, Hooks, Operation, Posted, ProcessGroup};
use crate::engine::spill::{PartitionDataManager, Pointer, PointerTensor, ShardPointer};
use crate::engine::tape::ops::messages::Messages;
use crate::words::error::{Error, Result};

/// The partitioned graph from one rank's view: SAR's `GraphShardManager`. Layers use it like any other [`Graph`].
pub struct GraphShardManager {
    pub(in crate::engine::tape) exchange: Exchange,
    /// Shards by source rank.
    pub(in crate::engine::tape) shards: Vec<ShardPointer>,
    /// By source rank: the rows of that rank that the columns of its shard stand for; empty for the own shard, whose
    /// columns are rows.
    pub(in crate::engine::tape) sources: Vec<Pointer<Vec<u32>>>,
    /// Own source rows from which each rank has edges, ascending.
    pub(in crate::engine::tape) requested: Vec<Pointer<Vec<u32>>>,
    pub(in crate::engine::tape) ends: Ends,
    pub(in crate::engine::tape) edge_source: Option<EdgeSource>,
    pub(in crate::engine::tape) edge_inputs: Option<EdgeInputs>,
    /// The graph from [`cover_sums`](Self::cover_sums), and whether its edges have weights.
    pub(in crate::engine::tape) covered: Option<(Box<GraphShardManager>, bool)>,
    /// In a graph from [`cover_sums`](Self::cover_sums): sums that each rank is sent after the requested rows. The sources of a remote
    /// shard are the rows and then the sums that its rank has sent: a vertex cover of the edges between the two (SuperGCN).
    pub(in crate::engine::tape) sums: Vec<Option<PartialSums>>,
}

impl GraphShardManager {
    /// Creates the graph of `shards`, one per source rank. One collective.
    ///
    /// `sources[q]` are the rows of rank q that the columns of shard q stand for. `first_node` is the global id of this rank's
    /// first node; the others follow it.
    ///
    /// # Errors
    /// If the number of shards differs from the number of ranks (`Internal`), or the collective fails.
    pub fn new(
        manager: &Rc<PartitionDataManager>,
        group: &Rc<dyn ProcessGroup>,
        shards: Vec<ShardPointer>,
        first_node: u64,
        sources: Vec<Vec<u32>>,
    ) -> Result<Self> {
        if shards.len() != group.world_size() || sources.len() != shards.len() {
            let problem = format!("{} shards for {} ranks", shards.len(), group.world_size());
            return Err(Error::internal(problem));
        }
        let num_nodes = shards[group.rank()].num_destinations();
        let ids = node_ids(manager, first_node as i64, num_nodes as i64);
        let mut graph = GraphShardManager::over(manager, group, shards, sources, ids.clone(), ids)?;
        // On the full graph, sources and destinations are the same nodes.
        graph.ends.source_in_degrees = graph.ends.in_degrees.clone();
        Ok(graph)
    }

    /// Creates the graph of these shards over nodes with these global ids (of sources and of destinations). One
    /// collective.
    pub(in crate::engine::tape) fn over(
        manager: &Rc<PartitionDataManager>,
        group: &Rc<dyn ProcessGroup>,
        shards: Vec<ShardPointer>,
        sources: Vec<Vec<u32>>,
        source_ids: PointerTensor,
        destination_ids: PointerTensor,
    ) -> Result<Self> {
        let mut in_degrees = vec![0_i64; destination_ids.size()[0] as usize];
        for shard in &shards {
            let ends = &shard.by_dst()?.ends;
            for (i, &row) in ends.rows().iter().enumerate() {
                in_degrees[row as usize] += ends.columns(i).len() as i64;
            }
        }
        let num_sources = source_ids.size()[0] as usize;
        let Requests { rows, out_degrees } =
            exchange_requests(manager, group, &shards, &sources, num_sources)?;
        let track = |values: &[i64]| -> Result<PointerTensor> {
            Ok(manager.track("degrees", Tensor::f_from_slice(values)?))
        };
        let ends = Ends {
            source_ids,
            destination_ids,
            destination_rows: None,
            in_degrees: track(&in_degrees)?,
            source_in_degrees: unknown_degrees(manager, num_sources as i64, of_a_relation),
            out_degrees: track(&out_degrees)?,
        };
        let track = |rows: Vec<Vec<u32>>| {
            rows.into_iter().map(|rows| manager.track("requested-rows", rows)).collect()
        };
        Ok(GraphShardManager {
            exchange: Exchange { manager: manager.clone(), group: group.clone() },
            shards,
            sources: track(sources),
            requested: track(rows),
            ends,
            edge_source: None,
            edge_inputs: None,
            covered: None,
            sums: Vec::new(),
        })
    }

    /// Sets the features of edges, for this graph and graphs derived from it later. The shards must have been loaded
    /// with ids.
    pub fn set_edge_source(&mut self, source: EdgeSource) {
        self.edge_inputs = Some(EdgeInputs::new(&self.exchange.manager, self.shards(), &source));
        self.edge_source = Some(source);
    }

    /// Spills values and gives up the turn: SAR's `precall_func` during training.
    ///
    /// # Errors
    /// As for [`PartitionDataManager::precall_func`].
    pub fn pause_process(&self) -> Result<()> {
        self.exchange.manager.precall_func()
    }

    /// Takes the next turn: SAR's `callback_func` during training. Tensors are read again when they are used.
    ///
    /// # Errors
    /// As for [`PartitionDataManager::callback_func`].
    pub fn resume_process(&self) -> Result<()> {
        self.exchange.manager.callback_func()
    }

    /// Sums that a rank is sent, if there are any.
    fn sums_for(&self, rank: usize) -> Option<&PartialSums> {
        self.sums.get(rank)?.as_ref()
    }

    /// Messages with a row for each source of a rank's shard.
    pub(in crate::engine::tape) fn messages_of_sources<'m>(
        &'m self,
        collective: &'m Collective,
        layout: &[RowLayout],
    ) -> Messages<'m> {
        self.exchange.messages(collective, |rank| self.shards[rank].num_sources(), layout)
    }
}

/// The error for in-degrees of a relation's sources.
pub(super) fn of_a_relation() -> Error {
    Error::config("in-degrees", "the sources of a relation may be nodes of another type")
}

/// Consecutive global ids.
pub(in crate::engine::tape) fn node_ids(
    manager: &PartitionDataManager,
    first_node: i64,
    num_nodes: i64,
) -> PointerTensor {
    let kind = Kind::Int64;
    let ids = move || {
        let options = (kind, tch::Device::Cpu);
        Ok(Tensor::f_arange_start(first_node, first_node + num_nodes, options)?)
    };
    manager.track_recipe("node-ids", &[num_nodes], kind, None, Rc::new(ids))
}

impl Graph for GraphShardManager {
    fn ends(&self) -> &Ends {
        &self.ends
    }

    fn exchange(&self) -> Option<&Exchange> {
        Some(&self.exchange)
    }

    fn edge_inputs(&self) -> Option<&EdgeInputs> {
        self.edge_inputs.as_ref()
    }

    fn local_shard(&self) -> &ShardPointer {
        &self.shards[self.exchange.group.rank()]
    }

    fn shards(&self) -> Vec<&ShardPointer> {
        let others = self.exchange.others().map(|rank| &self.shards[rank]);
        std::iter::once(self.local_shard()).chain(others).collect()
    }

    fn for_sums(&self, weighted: bool) -> Option<&dyn Graph> {
        let (covered, has_weights) = self.covered.as_ref()?;
        (weighted == *has_weights).then_some(&**covered)
    }

    fn pull(&self, parts: &[&Tensor], layout: &[RowLayout], keep: bool) -> Result<Option<Posted>> {
        self.exchange.post(Operation::PullRows, keep, |rank, outbox| {
            let rows = self.requested[rank].pin()?;
            parts.iter().zip(layout).try_for_each(|(part, layout)| {
                self.exchange.write_rows(part, &rows, layout, outbox)?;
                match self.sums_for(rank) {
                    Some(sums) => self.exchange.write_part(&sums.of(part)?, outbox),
                    None => Ok(()),
                }
            })
        })
    }

    fn push(&self, kept: Option<Pulled<'_>>, make: &mut MakeRows<'_>) -> Result<Option<Posted>> {
        let mut pulled =
            kept.map(|Pulled { collective, layout }| self.messages_of_sources(collective, layout));
        self.exchange.post(Operation::PushRows, false, |rank, outbox| {
            let pulled = match pulled.as_mut().and_then(Messages::next).transpose()? {
                Some((_, parts)) => parts,
                None => Vec::new(),
            };
            let parts = make(&self.shards[rank], &pulled)?;
            parts.iter().try_for_each(|part| self.exchange.write_part(part, outbox))
        })
    }

    fn pulled(
        &self,
        collective: Option<&Collective>,
        layout: &[RowLayout],
        visit: &mut VisitShard<'_>,
    ) -> Result<()> {
        let Some(collective) = collective else { return Ok(()) };
        self.messages_of_sources(collective, layout).try_for_each(|message| {
            let (rank, parts) = message?;
            let _span = edges_of(rank);
            visit(&self.shards[rank], &parts)
        })
    }

    fn pushed(
        &self,
        collective: Option<&Collective>,
        layout: &[RowLayout],
        visit: &mut VisitRows<'_>,
    ) -> Result<()> {
        let Some(collective) = collective else { return Ok(()) };
        let layout = layout.iter().map(|rows| RowLayout::new(rows.width, rows.kind));
        let layout: Vec<_> = layout.collect();
        let rows = |rank: usize| self.requested[rank].len();
        let sent = |rank| rows(rank) + self.sums_for(rank).map_or(0, PartialSums::len);
        self.exchange.messages(collective, sent, &layout).try_for_each(|message| {
            let (rank, parts) = message?;
            let _span = edges_of(rank);
            let Some(sums) = self.sums_for(rank) else {
                return visit(&self.requested[rank].pin()?, &parts);
            };
            let split = |from: usize, count: usize| {
                let parts = parts.iter().map(|part| part.f_narrow(0, from as i64, count as i64));
                Ok::<_, Error>(parts.collect::<std::result::Result<Vec<_>, _>>()?)
            };
            visit(&self.requested[rank].pin()?, &split(0, rows(rank))?)?;
            let parts = split(rows(rank), sums.len())?;
            let parts = parts.iter().map(|part| sums.adjoint(part));
            visit(&sums.sources.pin()?, &parts.collect::<Result<Vec<_>>>()?)
        })
    }
}

impl Hooks for GraphShardManager {
    fn precall(&self) -> Result<()> {
        self.pause_process()
    }

    fn idle(&self) -> Result<()> {
        self.exchange.manager.give_way()
    }

    fn callback(&self) -> Result<()> {
        self.resume_process()
    }
}
