//! A graph that is partitioned among the ranks.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::edge_inputs::{EdgeInputs, EdgeSource};
use super::graph::{
    Ends, Graph, MakeRows, Pulled, RowLayout, Transfer, VisitRows, VisitShard, unknown_degrees,
};
use super::requests::{Requests, exchange_requests};
use crate::engine::array::ArrayLayout;
use crate::engine::comm::{
    Collective, Hooks, Operation, Outbox, ProcessGroup, Recipient, ReduceOp, all_reduce,
    complete_all, post_reduce, reduced,
};
use crate::engine::spill::{
    PartitionDataManager, Pointer, PointerTensor, ShardPointer, write_narrow,
};
use crate::engine::tape::ops::messages::{Messages, SentRows};
use crate::engine::tensor;
use crate::engine::tensor::with_element;
use crate::error::{Error, Result};
use crate::event::{Span, SpanKind, span};
use crate::io::Dtype;
use crate::kernels::gather_rows;

/// Number of bytes that are collected before they are written to an outbox.
const CHUNK: usize = 4 << 20;

/// The partitioned graph from one rank's view: SAR's `GraphShardManager`. Layers use it like any other [`Graph`].
pub struct GraphShardManager {
    pub(in crate::engine::tape) manager: Rc<PartitionDataManager>,
    pub(in crate::engine::tape) group: Rc<dyn ProcessGroup>,
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
    /// The graph from [`cover_sums`](Self::cover_sums).
    pub(in crate::engine::tape) covered: Option<Box<dyn Graph>>,
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
            manager: manager.clone(),
            group: group.clone(),
            shards,
            sources: track(sources),
            requested: track(rows),
            ends,
            edge_source: None,
            edge_inputs: None,
            covered: None,
        })
    }

    /// Sets the features of edges, for this graph and graphs derived from it later. The shards must have been loaded
    /// with ids.
    pub fn set_edge_source(&mut self, source: EdgeSource) {
        self.edge_inputs = Some(EdgeInputs::new(&self.manager, self.shards(), &source));
        self.edge_source = Some(source);
    }

    /// Spills values and gives up the turn: SAR's `precall_func` during training.
    ///
    /// # Errors
    /// As for [`PartitionDataManager::precall_func`].
    pub fn pause_process(&self) -> Result<()> {
        self.manager.precall_func()
    }

    /// Takes the next turn: SAR's `callback_func` during training. Tensors are read again when they are used.
    ///
    /// # Errors
    /// As for [`PartitionDataManager::callback_func`].
    pub fn resume_process(&self) -> Result<()> {
        self.manager.callback_func()
    }

    pub(in crate::engine::tape) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.group.rank();
        (0..self.group.world_size()).filter(move |q| *q != rank)
    }

    pub(in crate::engine::tape) fn post(
        &self,
        operation: Operation,
        keep: bool,
        mut fill: impl FnMut(usize, &mut dyn Outbox) -> Result<()>,
    ) -> Result<Transfer> {
        if self.group.world_size() == 1 {
            return Ok(Transfer::Nothing);
        }
        let mut outbox = self.group.outbox(operation)?;
        if keep {
            outbox.keep();
        }
        for rank in self.others() {
            outbox.begin(Recipient::Rank(rank))?;
            fill(rank, &mut *outbox)?;
        }
        Ok(Transfer::Posted(outbox.post()?))
    }

    /// The narrower type in which rows are sent, if there is one: a type that represents them exactly, or bfloat16.
    fn sent_as(&self, rows: &RowLayout) -> Option<Dtype> {
        let rounded = self.manager.held_kind(rows.width as i64, rows.kind) != rows.kind;
        rows.exact.or_else(|| rounded.then_some(Dtype::BF16))
    }

    /// Writes all rows of a part to an outbox.
    pub(in crate::engine::tape) fn write_part(
        &self,
        part: &Tensor,
        outbox: &mut dyn Outbox,
    ) -> Result<()> {
        let width = part.size().iter().skip(1).product::<i64>() as usize;
        match self.sent_as(&RowLayout::new(width, part.kind())) {
            Some(dtype) => write_narrow(&tensor::slice(part), dtype, |bytes| {
                outbox.write_elements(bytes, dtype.size())
            }),
            None => outbox.write_elements(&tensor::bytes(part), part.kind().elt_size_in_bytes()),
        }
    }

    /// Messages of the other ranks, in parts of this layout; rank q sends `rows(q)` rows.
    pub(in crate::engine::tape) fn messages<'m>(
        &'m self,
        collective: &'m Collective,
        rows: impl Fn(usize) -> usize,
        layout: &[RowLayout],
    ) -> Messages<'m> {
        let senders = self.others().map(|rank| (rank, rows(rank)));
        let layout =
            layout.iter().map(|rows| SentRows { rows: *rows, sent_as: self.sent_as(rows) });
        Messages::new(&*self.group, collective, senders, layout.collect())
    }

    /// Messages with a row for each source of a rank's shard.
    pub(in crate::engine::tape) fn messages_of_sources<'m>(
        &'m self,
        collective: &'m Collective,
        layout: &[RowLayout],
    ) -> Messages<'m> {
        self.messages(collective, |rank| self.shards[rank].num_sources(), layout)
    }

    /// Writes the given rows of a part of this layout to an outbox, a bounded number at a time.
    pub(in crate::engine::tape) fn write_rows(
        &self,
        part: &Tensor,
        rows: &[u32],
        layout: &RowLayout,
        outbox: &mut dyn Outbox,
    ) -> Result<()> {
        write_rows(part, rows, self.sent_as(layout), outbox)
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

fn write_rows(
    part: &Tensor,
    rows: &[u32],
    sent_as: Option<Dtype>,
    outbox: &mut dyn Outbox,
) -> Result<()> {
    let width = part.size()[1..].iter().product::<i64>() as usize;
    if part.kind() == Kind::Int64 {
        let part = &tensor::slice::<i64>(part);
        return write_chunks(part, width, rows, |rows| outbox.write(bytemuck::cast_slice(rows)));
    }
    if let Some(dtype) = sent_as {
        let part = &tensor::slice::<f32>(part);
        return write_chunks(part, width, rows, |rows| {
            write_narrow(rows, dtype, |bytes| outbox.write_elements(bytes, dtype.size()))
        });
    }
    with_element!(part.kind(), T => {
        let part = &tensor::slice::<T>(part);
        write_chunks(part, width, rows, |rows| {
            outbox.write_elements(bytemuck::cast_slice(rows), size_of::<T>())
        })
    })
}

fn write_chunks<T: bytemuck::Pod + Default + Send + Sync>(
    part: &[T],
    width: usize,
    rows: &[u32],
    mut write: impl FnMut(&[T]) -> Result<()>,
) -> Result<()> {
    let rows_at_once = (CHUNK / size_of::<T>() / width.max(1)).max(1);
    let mut buffer = vec![T::default(); rows_at_once.min(rows.len()) * width];
    for rows in rows.chunks(rows_at_once) {
        let chunk = &mut buffer[..rows.len() * width];
        gather_rows(part, width, rows, chunk);
        write(chunk)?;
    }
    Ok(())
}

impl Graph for GraphShardManager {
    fn ends(&self) -> &Ends {
        &self.ends
    }

    fn edge_inputs(&self) -> Option<&EdgeInputs> {
        self.edge_inputs.as_ref()
    }

    fn local_shard(&self) -> &ShardPointer {
        &self.shards[self.group.rank()]
    }

    fn shards(&self) -> Vec<&ShardPointer> {
        let others = self.others().map(|rank| &self.shards[rank]);
        std::iter::once(self.local_shard()).chain(others).collect()
    }

    fn for_sums(&self, weighted: bool) -> Option<&dyn Graph> {
        self.covered.as_ref()?.for_sums(weighted)
    }

    fn pull(&self, parts: &[&Tensor], layout: &[RowLayout], keep: bool) -> Result<Transfer> {
        self.post(Operation::PullRows, keep, |rank, outbox| {
            let rows = self.requested[rank].pin()?;
            let mut parts = parts.iter().zip(layout);
            parts.try_for_each(|(part, layout)| self.write_rows(part, &rows, layout, outbox))
        })
    }

    fn push(&self, kept: Option<Pulled<'_>>, make: &mut MakeRows<'_>) -> Result<Transfer> {
        let mut pulled =
            kept.map(|Pulled { collective, layout }| self.messages_of_sources(collective, layout));
        self.post(Operation::PushRows, false, |rank, outbox| {
            let pulled = match pulled.as_mut().and_then(Messages::next).transpose()? {
                Some((_, parts)) => parts,
                None => Vec::new(),
            };
            let parts = make(&self.shards[rank], &pulled)?;
            parts.iter().try_for_each(|part| self.write_part(part, outbox))
        })
    }

    fn all_reduce(&self, values: Vec<Tensor>) -> Result<Vec<Tensor>> {
        match self.group.world_size() {
            1 => Ok(values),
            _ => all_reduce(&*self.group, values, ReduceOp::Sum, self),
        }
    }

    fn post_sums(&self, values: &[Tensor]) -> Result<Transfer> {
        match self.group.world_size() {
            1 => Ok(Transfer::Nothing),
            _ => Ok(Transfer::Posted(post_reduce(&*self.group, values)?)),
        }
    }

    fn sums(&self, collective: &Collective, layouts: &[ArrayLayout]) -> Result<Vec<Tensor>> {
        reduced(&*self.group, collective, layouts, ReduceOp::Sum)
    }

    fn complete_all(&self, transfers: Vec<Transfer>) -> Result<Vec<Option<Collective>>> {
        if self.group.world_size() == 1 {
            return Ok(transfers.iter().map(|_| None).collect());
        }
        let posted = transfers.into_iter().filter_map(|transfer| match transfer {
            Transfer::Nothing => None,
            Transfer::Posted(posted) => Some(posted),
        });
        let collectives = complete_all(&*self.group, posted.collect(), self)?;
        Ok(collectives.into_iter().map(Some).collect())
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
        self.messages(collective, rows, &layout).try_for_each(|message| {
            let (rank, parts) = message?;
            let _span = edges_of(rank);
            visit(&self.requested[rank].pin()?, &parts)
        })
    }
}

/// Begins a span of the work on another rank's messages.
pub(super) fn edges_of(rank: usize) -> Span {
    let mut span = span(SpanKind::Operation, "add rows of a rank");
    span.set("from", rank);
    span
}

impl Hooks for GraphShardManager {
    fn precall(&self) -> Result<()> {
        self.pause_process()
    }

    fn callback(&self) -> Result<()> {
        self.resume_process()
    }
}
