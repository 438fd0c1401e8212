//! Ids and features of edges.

use std::rc::Rc;

use tch::{Kind, Tensor};

use crate::engine::spill::{PartitionDataManager, PointerTensor, ShardPointer};
use crate::engine::tensor;
use crate::words::error::{Error, Result};

/// A function that returns the features of edges with these ids, `[edges.len(), width]`.
type ReadEdges = dyn Fn(&[u64]) -> Result<Tensor>;

/// Source of edge features, for a graph and all graphs derived from it.
#[derive(Clone)]
pub struct EdgeSource {
    /// Number of columns.
    pub width: i64,
    /// Element type: float or double.
    pub kind: Kind,
    /// Reads the features of edges by id, `[edges.len(), width]`. Ids are global or, in the graph of one relation,
    /// within the edge type.
    pub read: Rc<ReadEdges>,
}

/// Ids and features of a graph's edges, in the order of [`Graph::shards`](super::graph::Graph::shards).
#[derive(Clone)]
pub struct EdgeInputs {
    /// Id of each edge, as from [`Graph::edge_ids`](super::graph::Graph::edge_ids), `int64 [num_edges]`.
    pub ids: PointerTensor,
    /// Features of each edge, `[num_edges, width]`.
    pub features: PointerTensor,
}

impl EdgeInputs {
    /// Rows for the edges of these shards. They are never spilled, but read whenever they are used.
    pub(super) fn new(
        manager: &PartitionDataManager,
        shards: Vec<&ShardPointer>,
        source: &EdgeSource,
    ) -> Self {
        let num_edges = shards.iter().map(|shard| shard.num_edges() as i64).sum();
        let shards: Vec<ShardPointer> = shards.into_iter().cloned().collect();
        let ids = Rc::new(move || {
            let ids = edge_ids(shards.iter().collect())?;
            Ok(Tensor::f_from_slice(bytemuck::cast_slice::<u64, i64>(&ids))?)
        });
        let ids = manager.track_recipe("edge-ids", &[num_edges], Kind::Int64, None, ids);
        let (read, of) = (source.read.clone(), ids.clone());
        let features = Rc::new(move || {
            let ids = of.pin()?;
            read(bytemuck::cast_slice(&tensor::slice::<i64>(&ids)))
        });
        let size = [num_edges, source.width];
        let features = manager.track_recipe("edge-features", &size, source.kind, None, features);
        EdgeInputs { ids, features }
    }
}

/// Ids of all edges of these shards.
pub(super) fn edge_ids(shards: Vec<&ShardPointer>) -> Result<Vec<u64>> {
    let mut ids = Vec::with_capacity(shards.iter().map(|shard| shard.num_edges()).sum());
    for shard in shards {
        match &shard.by_dst()?.edge_ids {
            Some(own) => ids.extend(own),
            None if shard.num_edges() == 0 => {}
            None => {
                return Err(Error::config("edge ids", "the edges have been loaded without ids")
                    .with_hint("load the shards with EdgeData::ids"));
            }
        }
    }
    Ok(ids)
}
