//! Batches of a model with one layer for all edges.

use std::collections::BTreeMap;
use std::rc::Rc;

use tch::Tensor;

use super::batch_model::{BatchForward, BatchModel};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::{BlockGraph, Graph, ParameterSet, SourceDegrees, Tape, Var};
use crate::graph::Block;
use crate::nn::Model;
use crate::sampling::loaders::MiniBatch;
use crate::sampling::stores::GraphSource;
use crate::words::error::Result;

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
    pub(super) fn of(
        model: &'a dyn Model,
        graphs: Vec<BlockGraph>,
        features: PointerTensor,
    ) -> Box<dyn BatchForward + 'a> {
        Box::new(GraphBatch { model, graphs, features })
    }
}

/// Tracks a feature of a batch's input nodes: in the parameters' type, or as the values other than zero if the sampler
/// keeps only these.
pub(super) fn track_input(
    manager: &PartitionDataManager,
    parameters: &ParameterSet,
    batch: &MiniBatch,
    name: &str,
) -> Result<PointerTensor> {
    match batch.srcdata_entries.get(name) {
        Some(entries) => Ok(manager.track_entries(FEATURES, entries.clone(), None)),
        None => track_rows(manager, parameters, batch.input(name)?),
    }
}

/// Tracks rows of a batch in the parameters' type.
pub(super) fn track_rows(
    manager: &PartitionDataManager,
    parameters: &ParameterSet,
    rows: &Tensor,
) -> Result<PointerTensor> {
    Ok(manager.track(FEATURES, rows.f_to_kind(parameters.kind())?))
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
        let features = track_input(manager, parameters, batch, FEATURES)?;
        Ok(GraphBatch::of(self.model, graphs, features))
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
