//! What an operation needs of a graph, whether it is spread over ranks or lies here as a whole.

use tch::{Kind, Tensor};

use crate::comm::{Collective, Posted};
use crate::error::Result;
use crate::graph::GraphShard;
use crate::spill::{Pinned, PointerTensor};

/// Messages under way between the partitions of a graph.
#[must_use]
pub enum Transfer {
    /// The graph lies here as a whole: there is nothing to send and nothing to wait for.
    Nothing,
    /// Posted, not yet complete.
    Posted(Posted),
}

/// A graph as one rank sees it: its own nodes, the edges into them in one shard per source rank, and the means to get
/// rows to and from the ranks that own the sources.
///
/// A pull (forward) brings rows of sources here; a push (backward) sends rows computed for sources to their owners. Both are
/// posted, completed (this is the pause: nothing but `PointerTensor`s survives it) and then read in the order of ranks.
pub trait Graph {
    /// Nodes that this rank owns: rows of inputs and outputs.
    fn num_nodes(&self) -> usize;

    /// The global id of the first of them.
    fn first_node(&self) -> u64;

    /// In-degree of each own node, `int64 [num_nodes]`.
    fn in_degrees(&self) -> &PointerTensor;

    /// Out-degree of each own node over the whole graph, `int64 [num_nodes]`.
    fn out_degrees(&self) -> &PointerTensor;

    /// The edges between own nodes.
    fn local_shard(&self) -> Result<Pinned<GraphShard>>;

    /// Posts the rows of `x` (`[num_nodes, width]`) that other ranks have edges from.
    fn pull(&self, x: &Tensor) -> Result<Transfer>;

    /// Posts, for each other rank, the rows that `make` computes for the sources of its shard
    /// (`[shard.by_src.num_rows(), width]`).
    fn push(&self, make: &mut dyn FnMut(&GraphShard) -> Result<Tensor>) -> Result<Transfer>;

    /// Pauses until all ranks have posted.
    fn complete(&self, transfer: Transfer) -> Result<Option<Collective>>;

    /// After a pull: hands every remote shard with its source rows (`[shard.by_dst.num_cols(), width]`) to `visit`.
    fn pulled(
        &self,
        collective: Option<&Collective>,
        layout: (usize, Kind),
        visit: &mut dyn FnMut(&GraphShard, &Tensor) -> Result<()>,
    ) -> Result<()>;

    /// After a push: hands own rows (ascending) and what another rank computed for them (`[rows.len(), width]`) to
    /// `visit`.
    fn pushed(
        &self,
        collective: Option<&Collective>,
        layout: (usize, Kind),
        visit: &mut dyn FnMut(&[u32], &Tensor) -> Result<()>,
    ) -> Result<()>;
}
