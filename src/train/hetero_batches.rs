//! A model with a layer per relation on sampled batches.

use std::cell::RefCell;
use std::rc::Rc;

use tch::{Kind, Tensor};

use super::batch_model::{BatchForward, BatchModel};
use super::forward::NodeInput;
use super::graph_batches::{EDGE_FEATURES, FEATURES, track_input, track_rows};
use super::relation_degrees::RelationDegrees;
use super::stored_rows::StoredRows;
use crate::engine::comm::{Posted, ProcessGroup, Ranks};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::{Gradients, HeteroBlockGraph, ParameterSet, RelationData, Tape, Var};
use crate::engine::tensor;
use crate::graph::{CanonicalEtype, HeteroBlock, PartitionBook};
use crate::nn::HeteroStack;
use crate::sampling::loaders::MiniBatch;
use crate::sampling::stores::{GraphSource, SparseAdam};
use crate::words::error::{Error, Result};

/// Name of a node type's input features in a batch.
pub fn features_of(ntype: &str) -> String {
    format!("{ntype}/{FEATURES}")
}

/// Name of an edge type's features in a batch.
pub fn edge_features_of(etype: &CanonicalEtype) -> String {
    format!("{etype}/{EDGE_FEATURES}")
}

/// A model with a layer per relation, on batches with the [features](features_of) of each node type that has them, and
/// of [edge types](edge_features_of) if layers use them. Rows of other node types are [`StoredRows`].
pub struct HeteroBatches<'a> {
    model: &'a HeteroStack,
    inputs: &'a [NodeInput],
    /// Optimizer of the stored rows; its embeddings are in the order of node types.
    optimizer: RefCell<SparseAdam>,
    out_degrees: Option<RelationDegrees>,
    own_columns: bool,
}

impl<'a> HeteroBatches<'a> {
    /// `inputs` are by node type; `optimizer` updates the [stored](NodeInput::Stored) ones. `out_degrees` are for
    /// models that use them.
    pub fn new(
        model: &'a HeteroStack,
        inputs: &'a [NodeInput],
        optimizer: SparseAdam,
        out_degrees: Option<RelationDegrees>,
    ) -> Self {
        let optimizer = RefCell::new(optimizer);
        HeteroBatches { model, inputs, optimizer, out_degrees, own_columns: false }
    }

    /// These batches, with each node type's outputs [in their own columns](Tape::stack_diagonal).
    #[must_use]
    pub fn in_own_columns(self) -> Self {
        HeteroBatches { own_columns: true, ..self }
    }
}

struct HeteroBatch<'b> {
    batches: &'b HeteroBatches<'b>,
    graphs: Vec<HeteroBlockGraph>,
    inputs: Vec<BatchInput>,
    /// Row of each seed among the outputs of all node types, if several types have outputs.
    seeds: Option<Tensor>,
}

/// Rows of a batch for the nodes of a type.
enum BatchInput {
    Features(PointerTensor),
    /// Type-wise ids and rows.
    Learned(Vec<u64>, PointerTensor),
}

impl BatchModel for HeteroBatches<'_> {
    fn take_up<'b>(
        &'b self,
        manager: &Rc<PartitionDataManager>,
        parameters: &ParameterSet,
        graph: &dyn GraphSource,
        batch: &MiniBatch,
    ) -> Result<Box<dyn BatchForward + 'b>> {
        let book = graph.book();
        let blocks = batch.blocks.iter().map(|block| HeteroBlock::new(block, book));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let graphs = blocks.iter().zip(&batch.edata).map(|(block, edata)| {
            let degrees = self.out_degrees.as_ref().map(|degrees| degrees.of(block));
            let features = book.etypes().iter().map(|etype| edata.get(&edge_features_of(etype)));
            let data = RelationData {
                out_degrees: degrees.transpose()?,
                edge_features: features.map(|rows| rows.map(Tensor::shallow_clone)).collect(),
            };
            HeteroBlockGraph::of_block(manager, block, book, &data)
        });
        let graphs = graphs.collect::<Result<_>>()?;
        let ends = blocks.first().map_or(&[][..], HeteroBlock::ends);
        let inputs =
            self.inputs.iter().zip(ends).zip(book.ntypes()).map(|((input, ends), name)| {
                Ok(match input {
                    NodeInput::Features(_) => {
                        let name = features_of(name);
                        BatchInput::Features(track_input(manager, parameters, batch, &name)?)
                    }
                    NodeInput::Stored(stored) => {
                        let ids = ends.sources.clone();
                        let learned = track_rows(manager, parameters, &stored.lookup(&ids)?)?;
                        BatchInput::Learned(ids, learned)
                    }
                    NodeInput::Learned(_) => {
                        let problem =
                            format!("rows of node type {name} are in memory, but must be on disk");
                        return Err(Error::internal(problem));
                    }
                })
            });
        let inputs = inputs.collect::<Result<_>>()?;
        let targets = self.model.targets();
        let several = targets.len() > 1;
        let seeds = several.then(|| rows_of_seeds(targets, batch.seeds(), book)).transpose()?;
        Ok(Box::new(HeteroBatch { batches: self, graphs, inputs, seeds }))
    }

    fn post_rows(&self, group: &dyn ProcessGroup) -> Result<Vec<Posted>> {
        self.optimizer.borrow_mut().post(group)
    }

    fn update_rows(&self, posted: Vec<Posted>, lr: f64, ranks: Ranks<'_>) -> Result<()> {
        // A rank that is alone waits for no messages, and takes its turn all the same.
        if posted.is_empty() {
            ranks.hooks.callback()?;
        }
        let mut optimizer = self.optimizer.borrow_mut();
        optimizer.rule_mut().lr = lr;
        let updated = optimizer.update(posted, ranks)?;
        let stored = self.inputs.iter().filter_map(NodeInput::stored);
        stored.zip(updated).for_each(|(stored, rows)| stored.count_updates(rows));
        Ok(())
    }

    fn stored(&self) -> Vec<&StoredRows> {
        self.inputs.iter().filter_map(NodeInput::stored).collect()
    }
}

impl BatchForward for HeteroBatch<'_> {
    fn forward<'t>(&'t self, tape: &mut Tape<'t>) -> Result<(Var, Vec<Var>)> {
        let mut learned = Vec::new();
        let inputs = self.inputs.iter().map(|input| match input {
            BatchInput::Features(rows) => tape.input(rows),
            BatchInput::Learned(_, rows) => {
                let rows = tape.trainable_input(rows);
                learned.push(rows.clone());
                rows
            }
        });
        let inputs = inputs.collect();
        let graphs: Vec<&HeteroBlockGraph> = self.graphs.iter().collect();
        let mut outputs = self.batches.model.forward_all(tape, &graphs, inputs)?;
        let output = match &self.seeds {
            None => outputs.swap_remove(0),
            Some(rows) => {
                let all = if self.batches.own_columns {
                    tape.stack_diagonal(&outputs)?
                } else {
                    tape.stack_rows(&outputs)?
                };
                drop(outputs);
                tape.pick_rows(&all, rows)?
            }
        };
        Ok((output, learned))
    }

    fn keep_gradients(&self, learned: &[Var], gradients: &Gradients) -> Result<()> {
        let mut optimizer = self.batches.optimizer.borrow_mut();
        let ids = self.inputs.iter().filter_map(|input| match input {
            BatchInput::Learned(ids, _) => Some(ids),
            BatchInput::Features(_) => None,
        });
        for ((embedding, ids), input) in optimizer.embeddings_mut().iter_mut().zip(ids).zip(learned)
        {
            let Some(gradient) = gradients.input(input) else { continue };
            let gradient = gradient.pin()?.f_to_kind(Kind::Float)?.f_contiguous()?;
            embedding.accumulate(ids, &tensor::slice(&gradient))?;
        }
        Ok(())
    }
}

/// Row of each seed among the outputs of these node types, type after type.
fn rows_of_seeds(ntypes: &[usize], seeds: &[u64], book: &PartitionBook) -> Result<Tensor> {
    let types = seeds.iter().map(|seed| {
        let ntype = book.node_type(*seed);
        let place = ntype.and_then(|ntype| ntypes.iter().position(|target| *target == ntype));
        place.ok_or_else(|| Error::internal(format!("node {seed} has no output")))
    });
    let types: Vec<usize> = types.collect::<Result<_>>()?;
    let mut next: Vec<i64> = (0..ntypes.len())
        .map(|place| types.iter().filter(|other| **other < place).count() as i64)
        .collect();
    let rows = types.into_iter().map(|place| {
        next[place] += 1;
        next[place] - 1
    });
    Ok(Tensor::f_from_slice(&rows.collect::<Vec<i64>>())?)
}
