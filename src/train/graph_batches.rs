//! Batches of a model with one layer for all edges.

use std::collections::BTreeMap;
use std::rc::Rc;

use tch::Tensor;

use super::batch_model::{BatchForward, BatchModel};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::{BlockGraph, Graph, ParameterSet, SourceDegrees, Tape, Var};
use crate::error::Result;
use crate::graph::Block;
use crate::nn::Model;
use crate::sampling::loaders::MiniBatch;
use crate::sampling::stores::GraphSource;

/// Name of the input features in a batch.
pub const FEATURES: &str = "features";
/// Name of the seeds' labels in a batch.
pub const LABELS: &str = "labels";
/// Name of the edge features in a batch.
pub const EDGE_FEATURES: &str = "edge-features";

/// A model on nodes of one type, or on a heterogeneous graph treated as homogeneous.
pub struct GraphBatches<'a> {
    /// The model.
    pub model: &'a dyn Model,
    /// Whether the model uses edge types.
    pub edge_types: bool,
}

/// A batch of [`GraphBatches`].
pub(super) struct GraphBatch<'a> {
    model: &'a dyn Model,
    graphs: Vec<BlockGraph>,
    features: PointerTensor,
}

impl<'a> GraphBatch<'a> {
    /// The batch with these features, which get the parameters' type.
    pub(super) fn of(
        model: &'a dyn Model,
        graphs: Vec<BlockGraph>,
        features: &Tensor,
        manager: &PartitionDataManager,
        parameters: &ParameterSet,
    ) -> Result<Box<dyn BatchForward + 'a>> {
        let features = manager.track("features", features.f_to_kind(parameters.kind())?);
        Ok(Box::new(GraphBatch { model, graphs, features }))
    }
}

impl BatchModel for GraphBatches<'_> {
    fn take_up<'b>(
        &'b self,
        manager: &Rc<PartitionDataManager>,
        parameters: &ParameterSet,
        graph: &dyn GraphSource,
        batch: &MiniBatch,
    ) -> Result<Box<dyn BatchForward + 'b>> {
        let graphs = block_graphs(manager, graph, batch, self.edge_types)?;
        GraphBatch::of(self.model, graphs, batch.input(FEATURES)?, manager, parameters)
    }
}

impl BatchForward for GraphBatch<'_> {
    fn forward<'t>(&'t self, tape: &mut Tape<'t>) -> Result<(Var, Vec<Var>)> {
        let graphs: Vec<&dyn Graph> = self.graphs.iter().map(|graph| graph as &dyn Graph).collect();
        let features = tape.input(&self.features);
        Ok((self.model.forward(tape, &graphs, features)?, Vec::new()))
    }
}

/// Blocks of a batch as graphs for a model's layers, with edge types if they are needed, and with [`EDGE_FEATURES`] if
/// the batch has them.
///
/// # Errors
/// If the batch was sampled without degrees or types that the graphs need, or memory runs out (`Tensor`).
pub fn block_graphs(
    manager: &Rc<PartitionDataManager>,
    graph: &dyn GraphSource,
    batch: &MiniBatch,
    edge_types: bool,
) -> Result<Vec<BlockGraph>> {
    let book = edge_types.then(|| &**graph.book());
    let graph = |(block, edata): (&Block, &BTreeMap<String, Tensor>)| {
        let sources = ..block.num_sources();
        let degrees = SourceDegrees {
            incoming: batch.in_degrees.as_ref().map(|degrees| &degrees[sources]),
            outgoing: batch.out_degrees.as_ref().map(|degrees| &degrees[sources]),
        };
        let graph = BlockGraph::new(manager, block, degrees, book)?;
        Ok(match edata.get(EDGE_FEATURES) {
            Some(features) => graph.with_edge_features(manager, block, features.shallow_clone())?,
            None => graph,
        })
    };
    batch.blocks.iter().zip(&batch.edata).map(graph).collect()
}
