//! Small partitioned graphs.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::ranks::RankContext;
use crate::engine::tape::{EdgeSource, GraphShardManager};
use crate::graph::{GraphShard, ShardBuilder};
use crate::words::error::Result;

/// A graph cut into partitions of consecutive nodes. The id of an edge is its index in `edges`, its weight is also its
/// only feature.
#[derive(Debug, Clone)]
pub struct TestGraph {
    /// Source, destination and weight of each edge.
    pub edges: Vec<(u32, u32, f32)>,
    /// Type of each edge; empty if there are no types.
    pub types: Vec<u16>,
    /// First node of each partition, and the number of nodes.
    pub boundaries: Vec<u32>,
}

impl TestGraph {
    /// A graph with edges `[source, destination]` of weight 1; a new partition begins at each node of `cuts`.
    pub fn of(nodes: u32, edges: &[[u32; 2]], cuts: &[u32]) -> Self {
        let edges = edges.iter().map(|[src, dst]| (*src, *dst, 1.0)).collect();
        let boundaries = [&[0], cuts, &[nodes]].concat();
        TestGraph { edges, types: Vec::new(), boundaries }
    }

    /// The nodes of `rank`.
    pub fn nodes(&self, rank: usize) -> std::ops::Range<u32> {
        self.boundaries[rank]..self.boundaries[rank + 1]
    }

    /// The graph as `rank` sees it; one collective.
    ///
    /// # Errors
    /// If the collective fails.
    pub fn on(&self, context: &RankContext) -> Result<GraphShardManager> {
        let shards = (0..context.group.world_size()).map(|source| {
            let (shard, sources) = self.shard(context.rank, source)?;
            Ok((context.manager.track_shard("shard", shard), sources))
        });
        let (shards, sources): (Vec<_>, Vec<_>) =
            shards.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let manager = &context.manager;
        let first_node = u64::from(self.nodes(context.rank).start);
        let mut graph =
            GraphShardManager::new(manager, &context.group, shards, first_node, sources)?;
        graph.set_edge_source(self.weights_as_features());
        Ok(graph)
    }

    fn weights_as_features(&self) -> EdgeSource {
        let edges = self.edges.clone();
        let read = move |ids: &[u64]| {
            let weights: Vec<f64> = ids.iter().map(|id| f64::from(edges[*id as usize].2)).collect();
            Ok(Tensor::f_from_slice(&weights)?.f_view([-1, 1])?)
        };
        EdgeSource { width: 1, kind: Kind::Double, read: Rc::new(read) }
    }

    fn shard(&self, rank: usize, source: usize) -> Result<(GraphShard, Vec<u32>)> {
        let (own, theirs) = (self.nodes(rank), self.nodes(source));
        let mut builder = ShardBuilder::default();
        for (i, &(src, dst, weight)) in self.edges.iter().enumerate() {
            if theirs.contains(&src) && own.contains(&dst) {
                builder.push(src - theirs.start, dst - own.start);
                builder.push_weight(weight);
                builder.push_edge_id(i as u64);
                if let Some(etype) = self.types.get(i) {
                    builder.push_type(*etype);
                }
            }
        }
        builder.build(own.len(), theirs.len(), rank == source)
    }
}
