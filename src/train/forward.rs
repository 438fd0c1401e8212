//! The interface of models on a rank's part of the data.

use super::stored_rows::StoredRows;
use crate::engine::spill::{Pointer, PointerTensor};
use crate::engine::tape::{Graph, GraphShardManager, HeteroGraph, Tape, Var};
use crate::nn::{HeteroStack, LearnedRows, Model, NodeEmbedding};
use crate::words::error::Result;

/// A forward pass over a rank's data.
pub trait Forward {
    /// Computes the model's output, `[labels, outputs]`; also returns the [`learned`](Forward::learned) rows that it
    /// used. Outputs of several node types are stacked, [each type in its own columns](Tape::stack_diagonal).
    ///
    /// # Errors
    /// If an operation fails.
    fn forward<'t>(&'t self, tape: &mut Tape<'t>) -> Result<(Var, Vec<Var>)>;

    /// Learned rows of this rank, trained along with the model's parameters.
    fn learned(&self) -> Vec<&NodeEmbedding> {
        Vec::new()
    }

    /// Learned rows that stay on disk and are trained on samples.
    fn stored(&self) -> Vec<&StoredRows> {
        Vec::new()
    }

    /// All learned rows.
    fn all_rows(&self) -> Vec<&dyn LearnedRows> {
        let learned = self.learned().into_iter().map(|rows| rows as &dyn LearnedRows);
        learned.chain(self.stored().into_iter().map(|rows| rows as &dyn LearnedRows)).collect()
    }
}

/// A model on nodes of one type, or on a heterogeneous graph treated as homogeneous.
pub struct GraphModel<'a> {
    /// The model.
    pub model: &'a dyn Model,
    /// One graph per layer.
    pub graphs: Vec<&'a dyn Graph>,
    /// Input features, one row per source of the first layer's graph.
    pub features: PointerTensor,
}

impl Forward for GraphModel<'_> {
    fn forward<'t>(&'t self, tape: &mut Tape<'t>) -> Result<(Var, Vec<Var>)> {
        let features = tape.constant(&self.features);
        Ok((self.model.forward(tape, &self.graphs, features)?, Vec::new()))
    }
}

/// A model with a layer per relation.
pub struct HeteroModel<'a, G = GraphShardManager> {
    /// The model, with a layer per relation.
    pub model: &'a HeteroStack,
    /// One graph per layer.
    pub graphs: Vec<&'a HeteroGraph<G>>,
    /// Inputs of all own nodes, by node type.
    pub inputs: &'a [NodeInput],
    /// The own nodes that are sources of the first graph, by node type; `None` if all are.
    pub sources: Option<&'a [SourceNodes]>,
}

/// Selected own nodes of a type.
pub struct SourceNodes {
    /// Rows of the nodes, ascending.
    pub rows: Pointer<Vec<u32>>,
    /// Features of the nodes, `[rows.len(), width]`, if the type has features.
    pub features: Option<PointerTensor>,
}

/// Input of a model for the nodes of a type.
pub enum NodeInput {
    /// Features, `[own nodes of the type, width]`.
    Features(PointerTensor),
    /// Learned rows.
    Learned(NodeEmbedding),
    /// Learned rows that stay on disk.
    Stored(StoredRows),
}

impl NodeInput {
    /// The rows on disk, if the type has them.
    pub(super) fn stored(&self) -> Option<&StoredRows> {
        match self {
            NodeInput::Stored(rows) => Some(rows),
            NodeInput::Features(_) | NodeInput::Learned(_) => None,
        }
    }
}

impl<G: Graph> HeteroModel<'_, G> {
    /// Computes the outputs of all types that have outputs; also returns the learned rows that were used.
    ///
    /// # Errors
    /// If an operation fails.
    pub fn outputs<'t>(&'t self, tape: &mut Tape<'t>) -> Result<(Vec<Var>, Vec<Var>)> {
        let mut learned = Vec::new();
        let inputs = self.inputs.iter().enumerate().map(|(ntype, input)| {
            let sources = self.sources.map(|sources| &sources[ntype]);
            let all = match input {
                NodeInput::Features(features) => {
                    let some = sources.and_then(|sources| sources.features.as_ref());
                    return Ok(tape.constant(some.unwrap_or(features)));
                }
                NodeInput::Learned(rows) => {
                    let rows = rows.input(tape);
                    learned.push(rows.clone());
                    rows
                }
                NodeInput::Stored(rows) => rows.input(tape),
            };
            match sources {
                Some(sources) => tape.rows(&all, &sources.rows),
                None => Ok(all),
            }
        });
        let inputs = inputs.collect::<Result<_>>()?;
        Ok((self.model.forward_all(tape, &self.graphs, inputs)?, learned))
    }
}

impl<G: Graph> Forward for HeteroModel<'_, G> {
    fn forward<'t>(&'t self, tape: &mut Tape<'t>) -> Result<(Var, Vec<Var>)> {
        let (mut outputs, learned) = self.outputs(tape)?;
        let output = match outputs.len() {
            1 => outputs.swap_remove(0),
            _ => tape.stack_diagonal(&outputs)?,
        };
        Ok((output, learned))
    }

    fn learned(&self) -> Vec<&NodeEmbedding> {
        let learned = self.inputs.iter().filter_map(|input| match input {
            NodeInput::Learned(rows) => Some(rows),
            NodeInput::Features(_) | NodeInput::Stored(_) => None,
        });
        learned.collect()
    }

    fn stored(&self) -> Vec<&StoredRows> {
        self.inputs.iter().filter_map(NodeInput::stored).collect()
    }
}
