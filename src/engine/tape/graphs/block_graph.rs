//! A sampled block as a graph that layers run on.

use std::rc::Rc;

use tch::Tensor;

use super::edge_inputs::EdgeInputs;
use super::graph::{Ends, Graph, unknown_degrees};
use crate::engine::spill::{PartitionDataManager, PointerTensor, ShardPointer};
use crate::graph::{Block, GraphShard, PartitionBook};
use crate::words::error::{Error, Result};

/// A sampled block that is complete in memory: the same layers run on it as on the full graph.
///
/// In-degrees of destinations count the block's edges; degrees of sources are those in the whole graph. So if all
/// neighbours are sampled, every layer returns the same as on the full graph.
pub struct BlockGraph {
    shard: ShardPointer,
    ends: Ends,
    edge_inputs: Option<EdgeInputs>,
}

/// Nodes at the two ends of a block's edges.
pub(in crate::engine::tape) struct BlockEnds<'b> {
    /// Ids of the sources.
    pub(in crate::engine::tape) sources: PointerTensor,
    /// Ids of the destinations.
    pub(in crate::engine::tape) destinations: PointerTensor,
    /// Whether the first sources are the destinations.
    pub(in crate::engine::tape) among_sources: bool,
    /// Degrees of the sources.
    pub(in crate::engine::tape) degrees: SourceDegrees<'b>,
}

/// Degrees of a block's sources in the whole graph, for models that use them.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceDegrees<'b> {
    /// In-degrees.
    pub incoming: Option<&'b [u64]>,
    /// Out-degrees.
    pub outgoing: Option<&'b [u64]>,
}

impl BlockGraph {
    /// Creates the graph of a block. With `types`, the book determines each edge's type.
    ///
    /// # Errors
    /// If the number of degrees differs from the number of sources.
    pub fn new(
        manager: &Rc<PartitionDataManager>,
        block: &Block,
        degrees: SourceDegrees<'_>,
        types: Option<&PartitionBook>,
    ) -> Result<Self> {
        let types = types.map(|book| block.edge_types(book)).transpose()?.unwrap_or_default();
        let ends = BlockEnds {
            sources: ids(manager, block.sources())?,
            destinations: ids(manager, block.destinations())?,
            among_sources: true,
            degrees,
        };
        BlockGraph::over(manager, block.to_shard(&types), ends)
    }

    /// Creates the graph of these edges.
    pub(in crate::engine::tape) fn over(
        manager: &Rc<PartitionDataManager>,
        shard: GraphShard,
        ends: BlockEnds<'_>,
    ) -> Result<Self> {
        let BlockEnds { sources, destinations, among_sources, degrees } = ends;
        let num_sources = sources.size()[0];
        let of_sources = |degrees: Option<&[u64]>, left_out: fn() -> Error| match degrees {
            Some(degrees) if degrees.len() != num_sources as usize => {
                let problem = format!("{} degrees for {num_sources} sources", degrees.len());
                Err(Error::internal(problem))
            }
            Some(degrees) => track(manager, "degrees", degrees),
            None => Ok(unknown_degrees(manager, num_sources, left_out)),
        };
        let num_destinations = destinations.size()[0] as u32;
        let mut in_degrees = vec![0_u64; num_destinations as usize];
        let edges = &shard.by_dst.ends;
        for (i, &row) in edges.rows().iter().enumerate() {
            in_degrees[row as usize] = edges.columns(i).len() as u64;
        }
        let rows = || manager.track("destination-rows", (0..num_destinations).collect());
        let ends = Ends {
            source_ids: sources,
            destination_ids: destinations,
            destination_rows: among_sources.then(rows),
            in_degrees: track(manager, "degrees", &in_degrees)?,
            source_in_degrees: of_sources(degrees.incoming, no_in_degrees)?,
            out_degrees: of_sources(degrees.outgoing, no_out_degrees)?,
        };
        Ok(BlockGraph { shard: manager.track_shard("block", shard), ends, edge_inputs: None })
    }

    /// Adds features of the block's edges, `[num_edges, width]`, in the order of [`Block::edges`].
    ///
    /// # Errors
    /// If memory runs out (`Tensor`).
    pub fn with_edge_features(
        self,
        manager: &PartitionDataManager,
        block: &Block,
        features: Tensor,
    ) -> Result<Self> {
        self.with_rows_of_edges(manager, block.edges(), features)
    }

    /// Adds features of the edges with these ids, `[num_edges, width]`.
    pub(in crate::engine::tape) fn with_rows_of_edges(
        self,
        manager: &PartitionDataManager,
        edges: &[u64],
        features: Tensor,
    ) -> Result<Self> {
        let ids = track(manager, "edge-ids", edges)?;
        let features = manager.track("edge-features", features);
        Ok(BlockGraph { edge_inputs: Some(EdgeInputs { ids, features }), ..self })
    }
}

/// Ids of nodes, as layers read them.
pub(in crate::engine::tape) fn ids(
    manager: &PartitionDataManager,
    ids: &[u64],
) -> Result<PointerTensor> {
    track(manager, "node-ids", ids)
}

fn track(manager: &PartitionDataManager, label: &str, values: &[u64]) -> Result<PointerTensor> {
    let values: &[i64] = bytemuck::cast_slice(values);
    Ok(manager.track(label, Tensor::f_from_slice(values)?))
}

fn no_in_degrees() -> Error {
    Error::config("in-degrees", "the sampler left them out")
        .with_hint("build it with in_degrees(true)")
}

fn no_out_degrees() -> Error {
    Error::config("out-degrees", "the sampler left them out")
        .with_hint("build it with out_degrees(true)")
}

impl Graph for BlockGraph {
    fn ends(&self) -> &Ends {
        &self.ends
    }

    fn edge_inputs(&self) -> Option<&EdgeInputs> {
        self.edge_inputs.as_ref()
    }

    fn local_shard(&self) -> &ShardPointer {
        &self.shard
    }

    fn shards(&self) -> Vec<&ShardPointer> {
        vec![&self.shard]
    }
}
