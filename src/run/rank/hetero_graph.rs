//! A rank's part of a heterogeneous graph, for a model with a layer per edge type.

use std::path::Path;

use tch::Kind;

use super::assignment::Assignment;
use super::batch_inputs::BatchInputs;
use super::edge_sources::{check_needed, set_edge_sources};
use super::labelled::Labelled;
use super::learned_row_order::LearnedRowOrder;
use super::rank_graph::RankGraph;
use super::setup::{KIND, RankSetup};
use super::stored_features::StoredFeatures;
use crate::engine::spill::{Pointer, PointerTensor};
use crate::engine::tape::{Graph, HeteroGraphShardManager, ParameterBuilder, ParameterSet};
use crate::engine::tensor;
use crate::load::{EdgeData, NodeFeatures, construct_full_hetero_graph};
use crate::nn::{
    HeteroConfig, HeteroOutput, HeteroStack, LearnedRows, NodeEmbedding, load_state_dict,
};
use crate::run::config::relations::outputs;
use crate::run::config::run_config::{Relations, RunConfig};
use crate::sampling::stores::SparseAdam;
use crate::train::{NodeInput, RelationDegrees, stored_rows};
use crate::words::error::{Error, Result};

/// The graph, with features of its node types.
pub(super) struct RankHeteroGraph {
    pub(super) graph: HeteroGraphShardManager,
    /// Features by node type; `None` for types without features.
    features: Vec<Option<StoredFeatures>>,
    /// Order of the learned rows of these types, if there are any.
    row_order: Option<LearnedRowOrder>,
    /// Node types for which the model has outputs.
    pub(super) targets: Vec<usize>,
    /// Configuration of the model.
    config: HeteroConfig,
}

impl RankHeteroGraph {
    /// Reads the partition and builds the graph, of all edges or of those [within](EdgeData::within) it. One collective per edge
    /// type, and one more; with learned rows, one more; with edge features, two more.
    pub(super) fn new(
        setup: &RankSetup,
        run: &RunConfig,
        relations: &Relations,
        within: Option<Vec<bool>>,
    ) -> Result<Self> {
        let RankSetup { manager, group, partition } = setup;
        let key = run.keys.features.as_deref();
        let features = NodeFeatures::by_type(partition, key, run.normalize_features)?;
        let edge_features = run.keys.edge_features.as_deref();
        let columns = EdgeData {
            weight: run.keys.edge_weight.as_deref(),
            types: false,
            ids: edge_features.is_some(),
            within,
        };
        let mut graph = construct_full_hetero_graph(manager, group, partition, columns)?;
        let features = StoredFeatures::agreed(setup, run, features)?;
        let learned = (0..features.len()).filter(|ntype| features[*ntype].is_none());
        let row_order = LearnedRowOrder::new(setup, &learned.collect::<Vec<_>>())?;
        if let Some(key) = edge_features {
            let without = set_edge_sources(setup, &mut graph, key)?;
            check_needed(setup, run.model.kind, key, &without)?;
        }
        let targets = outputs(run, relations, partition.book())?;
        let config = HeteroConfig { model: run.model.clone(), merge: relations.merge };
        Ok(RankHeteroGraph { graph, features, row_order, targets, config })
    }

    /// Input of each node type: features, or learned rows that are initialised from `seed`.
    pub(super) fn inputs(&self, setup: &RankSetup, seed: u64) -> Result<Vec<NodeInput>> {
        let RankSetup { manager, partition, .. } = setup;
        let (book, part) = (partition.book(), partition.part());
        self.inputs_with(setup, |ntype| {
            let (name, nodes) = (&book.ntypes()[ntype], book.type_nodes(part, ntype));
            let (width, seed) = (self.config.width(), seed_of(seed, ntype));
            let rows = NodeEmbedding::new(manager, name, nodes, width, KIND, seed)?;
            Ok(NodeInput::Learned(rows))
        })
    }

    /// Like [`inputs`](Self::inputs), with learned rows stored in `folder`, and their optimizer. Two collectives.
    pub(super) fn stored_inputs(
        &self,
        setup: &RankSetup,
        folder: &Path,
        seed: u64,
    ) -> Result<(Vec<NodeInput>, SparseAdam)> {
        let learned = (0..self.features.len()).filter(|ntype| self.features[*ntype].is_none());
        let learned: Vec<_> = learned.map(|ntype| (ntype, seed_of(seed, ntype))).collect();
        let (manager, group) = (&setup.manager, &*setup.group);
        let (book, width) = (setup.partition.book(), self.config.width() as usize);
        let (rows, optimizer) = stored_rows(manager, group, book, &learned, folder, width)?;
        let mut rows = rows.into_iter();
        let inputs = self.inputs_with(setup, |_| {
            let missing = || Error::internal("a node type has no rows");
            rows.next().map(NodeInput::Stored).ok_or_else(missing)
        })?;
        Ok((inputs, optimizer))
    }

    fn inputs_with(
        &self,
        setup: &RankSetup,
        mut learned: impl FnMut(usize) -> Result<NodeInput>,
    ) -> Result<Vec<NodeInput>> {
        let inputs = self.features.iter().enumerate().map(|(ntype, features)| match features {
            Some(features) => Ok(NodeInput::Features(features.all(setup)?)),
            None => learned(ntype),
        });
        inputs.collect()
    }

    /// Features of selected own nodes of a type, ascending, if it has features. Only these rows are read from the partition.
    pub(super) fn rows(
        &self,
        setup: &RankSetup,
        ntype: usize,
        rows: &Pointer<Vec<u32>>,
    ) -> Result<Option<PointerTensor>> {
        self.features[ntype].as_ref().map(|stored| stored.rows(setup, rows)).transpose()
    }

    /// Out-degrees of sources by edge type, in files in `folder`, if the model's layers use them. All ranks call this.
    pub(super) fn relation_degrees(
        &self,
        setup: &RankSetup,
        folder: &Path,
    ) -> Result<Option<RelationDegrees>> {
        let degrees = self.config.model.kind.facts().out_degrees.then(|| {
            RelationDegrees::new(&self.graph, setup.partition.book(), folder, setup.ranks())
        });
        degrees.transpose()
    }

    /// Loads the run's initial values, including this rank's learned rows.
    pub(super) fn load_initial(
        &self,
        assignment: Assignment<'_>,
        parameters: &ParameterSet,
        learned: &[&dyn LearnedRows],
    ) -> Result<()> {
        let Some(path) = assignment.initial() else { return Ok(()) };
        self.load(path, parameters, learned)
    }

    /// Loads a weights file, including this rank's learned rows.
    pub(super) fn load(
        &self,
        path: &Path,
        parameters: &ParameterSet,
        learned: &[&dyn LearnedRows],
    ) -> Result<()> {
        load_state_dict(path, parameters, learned)?;
        self.row_order.as_ref().map_or(Ok(()), |order| order.check(path))
    }
}

impl RankGraph for RankHeteroGraph {
    type Model = HeteroStack;

    fn labelled(&self, setup: &RankSetup) -> Result<Vec<Labelled>> {
        let labelled = self.targets.iter().map(|target| {
            let labelled = Labelled::of_type(setup, *target);
            let mut in_edges = tensor::zeros(&[labelled.nodes.own as i64], Kind::Int64)?;
            for relation in self.graph.relations().iter().filter(|r| r.dst_type == *target) {
                in_edges = in_edges.f_add(&*relation.graph.in_degrees().pin()?)?;
            }
            let without_in_edges = in_edges.f_eq(0)?.f_sum(Kind::Int64)?.f_int64_value(&[])?;
            Ok(Labelled { without_in_edges, ..labelled })
        });
        labelled.collect()
    }

    fn stored_out_feats(&self, _run: &RunConfig, path: &Path) -> Result<Vec<i64>> {
        self.config.stored_out_feats(path, &self.graph, &self.targets)
    }

    fn model(
        &self,
        _run: &RunConfig,
        parameters: &mut ParameterBuilder,
        out_feats: &[i64],
    ) -> Result<HeteroStack> {
        let widths = self.features.iter().map(|f| f.as_ref().map(StoredFeatures::width));
        let widths: Vec<_> = widths.collect();
        let outputs = self.targets.iter().zip(out_feats);
        let outputs = outputs.map(|(&ntype, &out_feats)| HeteroOutput { ntype, out_feats });
        let outputs: Vec<_> = outputs.collect();
        HeteroStack::with_outputs(parameters, &self.graph, &self.config, &widths, &outputs)
    }

    fn row_order(&self) -> Option<&LearnedRowOrder> {
        self.row_order.as_ref()
    }

    fn out_degrees(&self, setup: &RankSetup) -> Result<Vec<u32>> {
        let (book, part) = (setup.partition.book(), setup.partition.part());
        let first = book.node_range(part).start;
        let mut all = vec![0; setup.partition.num_inner_nodes() as usize];
        for relation in self.graph.relations() {
            let begin = (book.node_type_range(part, relation.src_type).start - first) as usize;
            let degrees = relation.graph.out_degrees().pin()?;
            let degrees = &tensor::slice::<i64>(&degrees);
            all[begin..]
                .iter_mut()
                .zip(degrees.iter())
                .for_each(|(sum, degree)| *sum += *degree as u32);
        }
        Ok(all)
    }

    fn batch_inputs(&self, setup: &RankSetup, assignment: Assignment<'_>) -> Result<BatchInputs> {
        BatchInputs::by_type(setup, &self.features, assignment)
    }
}

/// A seed per type, because the rows of two types must differ.
fn seed_of(seed: u64, ntype: usize) -> u64 {
    seed ^ (ntype as u64 + 1) << 32
}
