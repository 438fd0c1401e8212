//! Out-degrees by edge type, for batches.

use std::path::Path;
use std::sync::Arc;

use crate::engine::comm::{Hooks, ProcessGroup, barrier};
use crate::engine::tape::{Graph, HeteroGraphShardManager};
use crate::engine::tensor;
use crate::error::Result;
use crate::graph::{HeteroBlock, PartitionBook};
use crate::sampling::stores::{DistTensor, DistTensorConfig, PartitionPolicy};

/// How many edges of each type go out from each node of the whole graph: a number per node, on disk.
pub struct RelationDegrees {
    /// By edge type, with the type of its sources.
    degrees: Vec<(usize, DistTensor<i64>)>,
}

impl RelationDegrees {
    /// Every rank writes those of its own nodes, into files in `folder`, which is the caller's to remove. Collectives: two.
    ///
    /// # Errors
    /// If a file cannot be made.
    pub fn new(
        graph: &HeteroGraphShardManager,
        book: &Arc<PartitionBook>,
        folder: &Path,
        (group, hooks): (&dyn ProcessGroup, &dyn Hooks),
    ) -> Result<Self> {
        let all = |create: bool| {
            let tensors = graph.relations().iter().enumerate().map(|(etype, relation)| {
                let name = format!("out-degrees-{etype}");
                let policy = PartitionPolicy::Nodes(relation.src_type);
                let config =
                    DistTensorConfig { folder, name: &name, width: 1, policy, persistent: false };
                let tensor = if create {
                    DistTensor::create(book, &config)?
                } else {
                    DistTensor::open(book, &config)?
                };
                Ok((relation.src_type, tensor))
            });
            tensors.collect::<Result<Vec<_>>>()
        };
        let created = if group.rank() == 0 { Some(all(true)?) } else { None };
        barrier(group, hooks)?;
        let degrees = created.map_or_else(|| all(false), Ok)?;
        for ((_, tensor), relation) in degrees.iter().zip(graph.relations()) {
            let own = relation.graph.out_degrees().pin()?;
            let first = book.type_nodes(group.rank(), relation.src_type).first;
            tensor.write_from(first, tensor::slice::<i64>(&own))?;
        }
        barrier(group, hooks)?;
        Ok(RelationDegrees { degrees })
    }

    /// Those of a block's sources, by edge type.
    pub(super) fn of(&self, block: &HeteroBlock) -> Result<Vec<Vec<u64>>> {
        let read = |(src_type, tensor): &(usize, DistTensor<i64>)| {
            let degrees = tensor.read(&block.ends()[*src_type].sources)?;
            Ok(degrees.into_iter().map(|degree| degree as u64).collect())
        };
        self.degrees.iter().map(read).collect()
    }
}
