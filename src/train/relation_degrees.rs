//! Out-degrees by edge type, for batches.

use std::path::Path;
use std::sync::Arc;

use crate::engine::comm::{Ranks, barrier, is_first_here};
use crate::engine::tape::{Graph, HeteroGraphShardManager};
use crate::engine::tensor;
use crate::graph::{HeteroBlock, PartitionBook};
use crate::sampling::stores::{DistTensor, DistTensorConfig, PartitionPolicy};
use crate::words::error::Result;

/// Out-degrees of all nodes for each edge type, on disk: one number per node.
pub struct RelationDegrees {
    /// Degrees by edge type, with the type's source node type.
    degrees: Vec<(usize, DistTensor<i64>)>,
}

impl RelationDegrees {
    /// Writes the degrees into files in `folder`, which the caller removes; every rank writes those of its own nodes.
    /// Two collectives, and one per edge type on several machines.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn new(
        graph: &HeteroGraphShardManager,
        book: &Arc<PartitionBook>,
        folder: &Path,
        Ranks { group, hooks }: Ranks<'_>,
    ) -> Result<Self> {
        let all = |create: bool| {
            let tensors = graph.relations().iter().enumerate().map(|(etype, relation)| {
                let name = format!("out-degrees-{etype}");
                let policy = PartitionPolicy::Nodes(relation.src_type);
                let config = DistTensorConfig {
                    folder,
                    name: Some(&name),
                    row_shape: &[1],
                    policy,
                    persistent: false,
                };
                let tensor = if create {
                    DistTensor::create(book, &config)?
                } else {
                    DistTensor::open(book, &config)?
                };
                Ok((relation.src_type, tensor))
            });
            tensors.collect::<Result<Vec<_>>>()
        };
        let created = if is_first_here(group) { Some(all(true)?) } else { None };
        barrier(group, hooks)?;
        let degrees = created.map_or_else(|| all(false), Ok)?;
        for ((_, tensor), relation) in degrees.iter().zip(graph.relations()) {
            let own = relation.graph.out_degrees().pin()?;
            tensor.write_from(tensor.rows_of(group.rank()).start, &tensor::slice::<i64>(&own))?;
            drop(own);
            tensor.send_own_rows(Ranks { group, hooks })?;
        }
        barrier(group, hooks)?;
        Ok(RelationDegrees { degrees })
    }

    /// Degrees of a block's sources, by edge type.
    pub(super) fn of(&self, block: &HeteroBlock) -> Result<Vec<Vec<u64>>> {
        let read = |(src_type, tensor): &(usize, DistTensor<i64>)| {
            let degrees = tensor.read(&block.ends()[*src_type].sources)?;
            Ok(degrees.into_iter().map(|degree| degree as u64).collect())
        };
        self.degrees.iter().map(read).collect()
    }
}
