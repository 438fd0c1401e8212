//! Sampled blocks with several node and edge types, as graphs that layers run on.

use std::rc::Rc;

use tch::Tensor;

use super::block_graph::{BlockEnds, BlockGraph, SourceDegrees, ids};
use super::hetero::{HeteroGraph, Relation};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::graph::{HeteroBlock, PartitionBook};
use crate::words::error::Result;

/// A [`HeteroBlock`] that is complete in memory, with a [`BlockGraph`] per relation: the same layers run on it as on the full
/// graph.
pub type HeteroBlockGraph = HeteroGraph<BlockGraph>;

/// Inputs of a block's layers other than its edges.
#[derive(Debug, Default)]
pub struct RelationData {
    /// By edge type: out-degrees of its sources in the whole graph, for models that use them.
    pub out_degrees: Option<Vec<Vec<u64>>>,
    /// By edge type: features of its edges, `[num_edges, width]`, in the order of
    /// [`BlockRelation::edges`](crate::graph::BlockRelation::edges); empty if no type has features.
    pub edge_features: Vec<Option<Tensor>>,
}

impl HeteroGraph<BlockGraph> {
    /// Builds the graph of a block, with its edges and the other inputs of layers.
    ///
    /// # Errors
    /// If the numbers of out-degrees and sources differ, or memory runs out (`Tensor`).
    pub fn of_block(
        manager: &Rc<PartitionDataManager>,
        block: &HeteroBlock,
        book: &PartitionBook,
        data: &RelationData,
    ) -> Result<Self> {
        // Types are numbered consecutively, like the ids of the full graph, because dropout depends on ids.
        let mut before = 0;
        let (mut source_ids, mut node_ids) = (Vec::new(), Vec::new());
        for (ntype, nodes) in block.ends().iter().enumerate() {
            let laid = |nodes: &[u64]| -> Result<PointerTensor> {
                ids(manager, &nodes.iter().map(|id| before + id).collect::<Vec<_>>())
            };
            source_ids.push(laid(&nodes.sources)?);
            node_ids.push(laid(nodes.destinations())?);
            before += book.num_nodes_of_type(ntype);
        }
        let mut relations = Vec::new();
        for (i, (etype, edges)) in book.etypes().iter().zip(block.relations()).enumerate() {
            let [src_type, dst_type] = book.etype_ends()[i];
            let outgoing = data.out_degrees.as_ref().map(|degrees| &degrees[i][..]);
            let ends = BlockEnds {
                sources: source_ids[src_type].clone(),
                destinations: node_ids[dst_type].clone(),
                among_sources: src_type == dst_type,
                degrees: SourceDegrees { incoming: None, outgoing },
            };
            let graph = BlockGraph::over(manager, edges.to_shard(), ends)?;
            let graph = match data.edge_features.get(i).and_then(Option::as_ref) {
                Some(features) => {
                    graph.with_rows_of_edges(manager, &edges.edges, features.shallow_clone())?
                }
                None => graph,
            };
            relations.push(Relation { etype: etype.clone(), src_type, dst_type, graph });
        }
        let rows = block.ends().iter().map(|nodes| {
            let rows: Vec<u32> = (0..nodes.num_destinations as u32).collect();
            Some(manager.track("destination-rows", rows))
        });
        let (ntypes, destination_rows) = (book.ntypes().to_vec(), rows.collect());
        Ok(HeteroGraph { ntypes, node_ids, destination_rows, relations })
    }
}
