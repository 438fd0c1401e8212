//! The interface between operations and a graph, whether it is spread over ranks or complete in memory.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::edge_inputs::{EdgeInputs, edge_ids};
use crate::engine::array::ArrayLayout;
use crate::engine::comm::{Collective, Posted};
use crate::engine::spill::{PartitionDataManager, Pointer, PointerTensor, ShardPointer};
use crate::error::{Error, Result};
use crate::io::Dtype;

/// Messages in transit between the partitions of a graph.
#[must_use]
pub enum Transfer {
    /// The graph is complete here: nothing to send and nothing to wait for.
    Nothing,
    /// Messages that are posted and not yet complete.
    Posted(Posted),
}

/// The rows in one part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLayout {
    /// Number of columns.
    pub width: usize,
    /// Element type in which they are used.
    pub kind: Kind,
    /// A narrower type that holds all values exactly, in which single-precision rows are sent, if one is known to all ranks.
    pub exact: Option<Dtype>,
}

impl RowLayout {
    /// Rows of any values.
    pub fn new(width: usize, kind: Kind) -> Self {
        RowLayout { width, kind, exact: None }
    }
}

/// A function that takes a shard and the rows of its sources.
pub type VisitShard<'v> = dyn FnMut(&ShardPointer, &[Tensor]) -> Result<()> + 'v;

/// A function that computes rows for the sources of a shard, from the rows that were pulled, if any.
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

/// The nodes at the two ends of a graph's edges.
#[derive(Clone)]
pub struct Ends {
    pub(in crate::engine::tape) source_ids: PointerTensor,
    pub(in crate::engine::tape) destination_ids: PointerTensor,
    pub(in crate::engine::tape) destination_rows: Option<Pointer<Vec<u32>>>,
    pub(in crate::engine::tape) in_degrees: PointerTensor,
    pub(in crate::engine::tape) source_in_degrees: PointerTensor,
    pub(in crate::engine::tape) out_degrees: PointerTensor,
}

/// Unknown degrees of a number of nodes: every access to them returns the error.
pub(in crate::engine::tape) fn unknown_degrees(
    manager: &PartitionDataManager,
    num_nodes: i64,
    error: fn() -> Error,
) -> PointerTensor {
    let degrees = Rc::new(move || Err(error()));
    manager.track_recipe("degrees", &[num_nodes], Kind::Int64, None, degrees)
}

/// A graph as one rank sees it: the edges into its own destinations, in one shard per source rank, and the means to exchange
/// rows with the ranks that own the sources.
///
/// On a full graph, sources and destinations are the same nodes. On a message flow graph, the destinations are some of the
/// sources; on the graph of one relation, the two may be nodes of different types.
///
/// A pull (forward) brings rows of sources here; a push (backward) sends rows computed for sources to their owners. A message
/// consists of parts, each with its own rows [`RowLayout`]. Both are posted, completed (this is the pause: only
/// `PointerTensor`s survive it) and then read in the order of ranks.
pub trait Graph {
    /// The nodes at the two ends of its edges.
    fn ends(&self) -> &Ends;

    /// Whether the graph is complete here, so that no operation on it waits for another rank.
    fn is_whole(&self) -> bool {
        false
    }

    /// Number of sources that this rank owns: rows of a layer's input.
    fn num_sources(&self) -> usize {
        self.ends().source_ids.size()[0] as usize
    }

    /// Number of destinations, all of which this rank owns: rows of a layer's output.
    fn num_destinations(&self) -> usize {
        self.ends().destination_ids.size()[0] as usize
    }

    /// The row of each destination among the own sources, in any order; `None` if destination i is source i.
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

    /// The edges from own sources; its columns are their rows.
    fn local_shard(&self) -> &ShardPointer;

    /// All shards: the own one first, then the others in the order in which they are [pulled](Graph::pulled). Rows of edge
    /// values, `[num_edges, width]`, follow this order, and within a shard the order of its `by_dst`.
    fn shards(&self) -> Vec<&ShardPointer>;

    /// Number of edges into the destinations: rows of edge values.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    fn num_edges(&self) -> Result<i64> {
        Ok(self.in_degrees().pin()?.f_sum(Kind::Int64)?.f_int64_value(&[])?)
    }

    /// Id of each edge, in the order of [`shards`](Graph::shards): DGL's `edata[dgl.EID]`. Ids are global, or, on the graph of one
    /// relation, those within the edge type.
    ///
    /// # Errors
    /// If the shards have been loaded without ids.
    fn edge_ids(&self) -> Result<Vec<u64>> {
        edge_ids(self.shards())
    }

    /// Ids and features of the edges, if the graph was given features.
    fn edge_inputs(&self) -> Option<&EdgeInputs> {
        None
    }

    /// A graph whose sums over in-edges are those of this one, up to rounding, and take fewer rows between ranks, if there is one.
    /// `weighted` says whether the sums are weighted. Sources of its remote shards may be sums of rows.
    fn for_sums(&self, _weighted: bool) -> Option<&dyn Graph> {
        None
    }

    /// Posts the rows of `parts` (each `[num_sources, width]` or `[num_sources]`) from which other ranks have edges, in the layout that
    /// [`pulled`](Graph::pulled) gets. With `keep` they can be read again for as long as the collective lives.
    ///
    /// # Errors
    /// If a message cannot be written (`Io`, `OutOfDisk`).
    fn pull(&self, parts: &[&Tensor], layout: &[RowLayout], keep: bool) -> Result<Transfer>;

    /// Posts, for each other rank, the rows that `make` computes for the sources of its shard (parts of `[shard.num_sources(),
    /// width]`). Rows that were pulled and kept are passed to `make` again.
    ///
    /// # Errors
    /// If `make` fails, or a message cannot be written (`Io`, `OutOfDisk`).
    fn push(&self, kept: Option<Pulled<'_>>, make: &mut MakeRows<'_>) -> Result<Transfer>;

    /// Sums of the values of all ranks, in the shapes and types of this rank's; a collective. A graph that is complete here
    /// returns its values unchanged.
    ///
    /// # Errors
    /// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
    /// `Interrupted`).
    fn all_reduce(&self, values: Vec<Tensor>) -> Result<Vec<Tensor>> {
        Ok(values)
    }

    /// Posts values whose sums over all ranks [`sums`](Graph::sums) reads after a pause.
    ///
    /// # Errors
    /// If a message cannot be written (`Io`, `OutOfDisk`).
    fn post_sums(&self, _: &[Tensor]) -> Result<Transfer> {
        Ok(Transfer::Nothing)
    }

    /// Sums of the values that all ranks have [posted](Graph::post_sums), in these layouts.
    ///
    /// # Errors
    /// If a message cannot be read (`Io`, `Corrupt`), or ranks have posted values of other shapes.
    fn sums(&self, _: &Collective, _: &[ArrayLayout]) -> Result<Vec<Tensor>> {
        Err(Error::internal("a graph that is complete here has posted nothing".to_owned()))
    }

    /// Pauses once until all ranks have posted all of these, which may belong to several graphs of the same ranks.
    ///
    /// # Errors
    /// If a value cannot be spilled (`Io`, `OutOfDisk`), or the run is being stopped (`Aborted`, `Interrupted`).
    fn complete_all(&self, transfers: Vec<Transfer>) -> Result<Vec<Option<Collective>>>;

    /// After a pull: passes every remote shard with its source rows (parts of `[shard.num_sources(), width]`) to `visit`.
    ///
    /// # Errors
    /// If `visit` fails, or a message cannot be read (`Io`, `Corrupt`).
    fn pulled(
        &self,
        collective: Option<&Collective>,
        layout: &[RowLayout],
        visit: &mut VisitShard<'_>,
    ) -> Result<()>;

    /// After a push: passes own source rows (ascending) and what another rank computed for them (parts of `[rows.len(),
    /// width]`) to `visit`. They have any values: `exact` does not count here.
    ///
    /// # Errors
    /// If `visit` fails, or a message cannot be read (`Io`, `Corrupt`).
    fn pushed(
        &self,
        collective: Option<&Collective>,
        layout: &[RowLayout],
        visit: &mut VisitRows<'_>,
    ) -> Result<()>;
}
