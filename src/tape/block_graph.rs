//! A sampled block as a graph that layers run on.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::graph::{Graph, MakeRows, Pulled, RowLayout, Transfer, VisitRows, VisitShard};
use crate::comm::Collective;
use crate::error::{Error, Result};
use crate::graph::{Block, GraphShard, PartitionBook};
use crate::spill::{PartitionDataManager, Pinned, Pointer, PointerTensor};

/// A block, which lies here as a whole: the same layers run on it as on the full graph.
///
/// In-degrees count the block's edges, out-degrees those of the whole graph, so that with all neighbours sampled every
/// layer gives what it gives on the full graph.
pub struct BlockGraph {
    shard: Pointer<GraphShard>,
    num_sources: usize,
    num_destinations: usize,
    destination_rows: Pointer<Vec<u32>>,
    source_ids: PointerTensor,
    destination_ids: PointerTensor,
    in_degrees: PointerTensor,
    out_degrees: PointerTensor,
}

impl BlockGraph {
    /// Takes a block up. `out_degrees` are those of its sources over the whole graph, for models that look at them. With
    /// `types` edges get theirs from the book.
    pub fn new(
        manager: &Rc<PartitionDataManager>,
        block: &Block,
        out_degrees: Option<&[u64]>,
        types: Option<&PartitionBook>,
    ) -> Result<Self> {
        let (num_sources, num_destinations) = (block.num_sources(), block.num_destinations());
        if let Some(degrees) = out_degrees.filter(|degrees| degrees.len() != num_sources) {
            let problem = format!("{} out-degrees of {num_sources} sources", degrees.len());
            return Err(Error::Internal(problem));
        }
        let types = types.map(|book| block.edge_types(book)).transpose()?.unwrap_or_default();
        let mut in_degrees = vec![0_u64; num_destinations];
        for (i, &row) in block.by_dst().rows().iter().enumerate() {
            in_degrees[row as usize] = block.by_dst().columns(i).len() as u64;
        }
        let track = |label: &str, values: &[u64]| -> Result<PointerTensor> {
            let values: &[i64] = bytemuck::cast_slice(values);
            Ok(manager.track(label, Tensor::f_from_slice(values)?))
        };
        let rows: Vec<u32> = (0..num_destinations as u32).collect();
        Ok(BlockGraph {
            shard: manager.track("block", block.to_shard(&types)),
            num_sources,
            num_destinations,
            destination_rows: manager.track("destination-rows", rows),
            source_ids: track("node-ids", block.sources())?,
            destination_ids: track("node-ids", block.destinations())?,
            in_degrees: track("degrees", &in_degrees)?,
            out_degrees: if let Some(degrees) = out_degrees {
                track("degrees", degrees)?
            } else {
                let shape = [num_sources as i64];
                manager.track_recipe("degrees", (&shape, Kind::Int64), None, Rc::new(missing))
            },
        })
    }
}

fn missing() -> Result<Tensor> {
    Err(Error::config("out-degrees", "the sampler has left them out")
        .with_hint("make it with out_degrees(true)"))
}

impl Graph for BlockGraph {
    fn num_sources(&self) -> usize {
        self.num_sources
    }

    fn num_destinations(&self) -> usize {
        self.num_destinations
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn destination_rows(&self) -> Option<&Pointer<Vec<u32>>> {
        Some(&self.destination_rows)
    }

    fn source_ids(&self) -> &PointerTensor {
        &self.source_ids
    }

    fn destination_ids(&self) -> &PointerTensor {
        &self.destination_ids
    }

    fn in_degrees(&self) -> &PointerTensor {
        &self.in_degrees
    }

    fn out_degrees(&self) -> &PointerTensor {
        &self.out_degrees
    }

    fn local_shard(&self) -> Result<Pinned<GraphShard>> {
        self.shard.pin()
    }

    fn shards(&self, visit: &mut dyn FnMut(&GraphShard) -> Result<()>) -> Result<()> {
        visit(&*self.shard.pin()?)
    }

    fn pull(&self, _: &[&Tensor], _: bool) -> Result<Transfer> {
        Ok(Transfer::Nothing)
    }

    fn push(&self, _: Option<Pulled<'_>>, _: &mut MakeRows<'_>) -> Result<Transfer> {
        Ok(Transfer::Nothing)
    }

    fn complete(&self, _: Transfer) -> Result<Option<Collective>> {
        Ok(None)
    }

    fn pulled(
        &self,
        _: Option<&Collective>,
        _: &[RowLayout],
        _: &mut VisitShard<'_>,
    ) -> Result<()> {
        Ok(())
    }

    fn pushed(&self, _: Option<&Collective>, _: &[RowLayout], _: &mut VisitRows<'_>) -> Result<()> {
        Ok(())
    }
}
