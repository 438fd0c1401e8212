//! The interface between operations and a graph, which may be spread over ranks or complete in memory.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::edge_inputs::{EdgeInputs, edge_ids};
use super::exchange::Exchange;
use super::row_layout::RowLayout;
use crate::engine::array::ArrayLayout;
use crate::engine::comm::{
    Collective, Posted, ReduceOp, all_reduce, complete_all, post_reduce, reduced,
};
use crate::engine::spill::{PartitionDataManager, Pointer, PointerTensor, ShardPointer};
use crate::words::error::{Error, Result};

/// A function that takes a shard and the rows of its sources.
pub type VisitShard<'v> = dyn FnMut(&ShardPointer, &[Tensor]) -> Result<()> + 'v;

/// A function that computes rows for the sources of a shard, from pulled rows if there are any.
pub type MakeRows<'m> = dyn FnMut(&ShardPointer, &[Tensor]) -> Result<Vec<Tensor>> + 'm;

/// A function that takes own source rows and the rows computed for them.
pub type VisitRows<'v> = dyn FnMut(&[u32], &[Tensor]) -> Result<()> + 'v;

/// A completed pull, and the layout of its parts.
#[derive(Clone, Copy)]
pub struct Pulled<'a> {
    /// The pull.
    pub collective: &'a Collective,
    /// Layout of its parts.
    pub layout: &'a [RowLayout],
}

/// Nodes at the two ends of a graph's edges.
#[derive(Clone)]
pub struct Ends {
    pub(in crate::engine::tape) source_ids: PointerTensor,
    pub(in crate::engine::tape) destination_ids: PointerTensor,
    pub(in crate::engine::tape) destination_rows: Option<Pointer<Vec<u32>>>,
    pub(in crate::engine::tape) in_degrees: PointerTensor,
    pub(in crate::engine::tape) source_in_degrees: PointerTensor,
    pub(in crate::engine::tape) out_degrees: PointerTensor,
}

/// Degrees that are unknown: every access returns the error.
pub(in crate::engine::tape) fn unknown_degrees(
    manager: &PartitionDataManager,
    num_nodes: i64,
    error: fn() -> Error,
) -> PointerTensor {
    let degrees = Rc::new(move || Err(error()));
    manager.track_recipe("degrees", &[num_nodes], Kind::Int64, None, degrees)
}

/// A graph from one rank's view: the edges into its own destinations, in one shard per source rank, and the exchange of
/// rows with the owners of sources.
///
/// On a full graph, sources and destinations are the same nodes. On a message flow graph, the destinations are among
/// the sources; on the graph of one relation, the two may be nodes of different types.
///
/// A pull (forward) fetches rows of sources; a push (backward) sends rows computed for sources to their owners. A
/// message consists of parts with their own [`RowLayout`]. Both are posted, completed (this is the pause, which only
/// `PointerTensor`s survive) and then read in the order of ranks. A graph that is complete here posts nothing.
pub trait Graph {
    /// Nodes at the two ends of the edges.
    fn ends(&self) -> &Ends;

    /// This rank's side of the exchange with other ranks; `None` if the graph is complete here.
    fn exchange(&self) -> Option<&Exchange> {
        None
    }

    /// Whether the graph is complete here, so that operations on it never wait for other ranks.
    fn is_whole(&self) -> bool {
        self.exchange().is_none()
    }

    /// Number of own sources: rows of a layer's input.
    fn num_sources(&self) -> usize {
        self.ends().source_ids.size()[0] as usize
    }

    /// Number of destinations, all owned by this rank: rows of a layer's output.
    fn num_destinations(&self) -> usize {
        self.ends().destination_ids.size()[0] as usize
    }

    /// Row of each destination among the own sources, in any order; `None` if destination i is source i.
    fn destination_rows(&self) -> Option<&Pointer<Vec<u32>>> {
        self.ends().destination_rows.as_ref()
    }

    /// Global id of each own source, `int64 [num_sources]`.
    fn source_ids(&self) -> &PointerTensor {
        &self.ends().source_ids
    }

    /// Global id of each destination, `int64 [num_destinations]`.
    fn destination_ids(&self) -> &PointerTensor {
        &self.ends().destination_ids
    }

    /// In-degree of each destination, `int64 [num_destinations]`.
    fn in_degrees(&self) -> &PointerTensor {
        &self.ends().in_degrees
    }

    /// In-degree of each own source over the whole graph, `int64 [num_sources]`.
    fn source_in_degrees(&self) -> &PointerTensor {
        &self.ends().source_in_degrees
    }

    /// Out-degree of each own source over the whole graph, `int64 [num_sources]`.
    fn out_degrees(&self) -> &PointerTensor {
        &self.ends().out_degrees
    }

    /// Edges from own sources; columns are the sources' rows.
    fn local_shard(&self) -> &ShardPointer;

    /// All shards: the own shard first, then the others in the order in which they are [pulled](Graph::pulled). Rows of
    /// edge values, `[num_edges, width]`, follow this order, and each shard's `by_dst` order.
    fn shards(&self) -> Vec<&ShardPointer>;

    /// Number of edges into the destinations: rows of edge values.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    fn num_edges(&self) -> Result<i64> {
        Ok(self.in_degrees().pin()?.f_sum(Kind::Int64)?.f_int64_value(&[])?)
    }

    /// Id of each edge, in the order of [`shards`](Graph::shards): DGL's `edata[dgl.EID]`. Ids are global or, in the
    /// graph of one relation, within the edge type.
    ///
    /// # Errors
    /// If the shards were loaded without ids.
    fn edge_ids(&self) -> Result<Vec<u64>> {
        edge_ids(self.shards())
    }

    /// Ids and features of the edges, if the graph has features.
    fn edge_inputs(&self) -> Option<&EdgeInputs> {
        None
    }

    /// A graph with the same sums over in-edges, up to rounding, for which ranks exchange fewer rows, if there is one.
    /// `weighted` says whether the sums are weighted. Sources of its remote shards may be sums of rows.
    fn for_sums(&self, _weighted: bool) -> Option<&dyn Graph> {
        None
    }

    /// Posts the rows of `parts` (each `[num_sources, width]` or `[num_sources]`) from which other ranks have edges, in
    /// the layout for [`pulled`](Graph::pulled). With `keep`, they can be read again while the collective exists.
    ///
    /// # Errors
    /// If a message cannot be written (`Io`, `OutOfDisk`).
    fn pull(
        &self,
        _parts: &[&Tensor],
        _layout: &[RowLayout],
        _keep: bool,
    ) -> Result<Option<Posted>> {
        Ok(None)
    }

    /// Posts, for each other rank, the rows that `make` computes for the sources of its shard (parts of
    /// `[shard.num_sources(), width]`). `make` receives kept rows of a pull again.
    ///
    /// # Errors
    /// If `make` fails, or a message cannot be written (`Io`, `OutOfDisk`).
    fn push(&self, _kept: Option<Pulled<'_>>, _make: &mut MakeRows<'_>) -> Result<Option<Posted>> {
        Ok(None)
    }

    /// Sums of all ranks' values, in the shapes and types of this rank's values; a collective. A graph that is complete
    /// here returns the values unchanged.
    ///
    /// # Errors
    /// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
    /// `Interrupted`).
    fn all_reduce(&self, values: Vec<Tensor>) -> Result<Vec<Tensor>> {
        match among_ranks(self) {
            None => Ok(values),
            Some(Exchange { group, manager }) => {
                all_reduce(&**group, values, ReduceOp::Sum, &**manager)
            }
        }
    }

    /// Posts values that [`sums`](Graph::sums) adds up over all ranks after a pause; `None` if there is only one rank.
    ///
    /// # Errors
    /// If a message cannot be written (`Io`, `OutOfDisk`).
    fn post_sums(&self, values: &[Tensor]) -> Result<Option<Posted>> {
        among_ranks(self).map(|exchange| post_reduce(&*exchange.group, values)).transpose()
    }

    /// Sums of all ranks' [posted](Graph::post_sums) values, in these layouts.
    ///
    /// # Errors
    /// If a message cannot be read (`Io`, `Corrupt`), or shapes differ between ranks.
    fn sums(&self, collective: &Collective, layouts: &[ArrayLayout]) -> Result<Vec<Tensor>> {
        let Some(exchange) = self.exchange() else {
            return Err(Error::internal("a graph that is complete here has posted nothing"));
        };
        reduced(&*exchange.group, collective, layouts, ReduceOp::Sum)
    }

    /// Completes what this rank has posted, perhaps for several graphs of the same ranks, with one pause until all ranks
    /// have posted theirs.
    ///
    /// # Errors
    /// If a value cannot be spilled (`Io`, `OutOfDisk`), or the run is being stopped (`Aborted`, `Interrupted`).
    fn complete_all(&self, posted: Vec<Posted>) -> Result<Vec<Collective>> {
        match self.exchange() {
            None => Ok(Vec::new()),
            Some(Exchange { group, manager }) => complete_all(&**group, posted, &**manager),
        }
    }

    /// After a pull: passes every remote shard with its source rows (parts of `[shard.num_sources(), width]`) to `visit`.
    ///
    /// # Errors
    /// If `visit` fails, or a message cannot be read (`Io`, `Corrupt`).
    fn pulled(
        &self,
        _collective: Option<&Collective>,
        _layout: &[RowLayout],
        _visit: &mut VisitShard<'_>,
    ) -> Result<()> {
        Ok(())
    }

    /// After a push: passes own source rows (ascending), and values that another rank computed for them (parts of
    /// `[rows.len(), width]`), to `visit`. `exact` does not apply, because the values are arbitrary.
    ///
    /// # Errors
    /// If `visit` fails, or a message cannot be read (`Io`, `Corrupt`).
    fn pushed(
        &self,
        _collective: Option<&Collective>,
        _layout: &[RowLayout],
        _visit: &mut VisitRows<'_>,
    ) -> Result<()> {
        Ok(())
    }
}

/// The exchange, unless there is only one rank.
fn among_ranks(graph: &(impl Graph + ?Sized)) -> Option<&Exchange> {
    graph.exchange().filter(|exchange| exchange.group.world_size() > 1)
}
