//! A rank's part of a graph that has one node type, or is treated as if it had.

use std::path::Path;
use std::rc::Rc;

use super::assignment::Assignment;
use super::batch_inputs::BatchInputs;
use super::labelled::Labelled;
use super::rank_graph::RankGraph;
use super::setup::{KIND, RankSetup};
use super::stored_features::StoredFeatures;
use crate::engine::spill::{Pointer, PointerTensor};
use crate::engine::tape::{
    EdgeSource, FullPartitionGraph, Graph, GraphShardManager, ParameterBuilder, ParameterSet, Tape,
};
use crate::engine::tensor;
use crate::load::{EdgeData, EdgeFeatures, NodeFeatures, construct_full_graph};
use crate::nn::{Model, Sizes, stored_out_feats};
use crate::run::config::Pass;
use crate::run::config::run_config::RunConfig;
use crate::words::error::{Error, Result};

/// The graph with its node features.
pub(super) struct WholeGraph {
    pub(super) graph: GraphShardManager,
    /// Input features of all own nodes.
    pub(super) features: StoredFeatures,
    num_rels: usize,
    edge_feats: i64,
}

impl WholeGraph {
    /// Reads the partition and builds the graph, of all edges or of those [within](EdgeData::within) it. Two collectives.
    pub(super) fn new(
        setup: &RankSetup,
        run: &RunConfig,
        within: Option<Vec<bool>>,
    ) -> Result<Self> {
        let RankSetup { manager, group, partition } = setup;
        let key = run.keys.features.as_deref();
        let features = NodeFeatures::find(partition, key, run.normalize_features)?;
        let columns = EdgeData {
            weight: run.keys.edge_weight.as_deref(),
            types: run.model.kind.spec().edge_types,
            ids: run.keys.edge_features.is_some(),
            within,
        };
        let mut graph = construct_full_graph(manager, group, partition, columns)?;
        if run.model.kind.normalises_edge_weights() {
            graph.normalise_edge_weights()?;
        }
        let features = StoredFeatures::agreed(setup, run, vec![Some(features)])?.swap_remove(0);
        let features = features.ok_or_else(|| Error::internal("the features are lost"))?;
        let edge_features = run
            .keys
            .edge_features
            .as_deref()
            .map(|key| EdgeFeatures::find(partition, key, manager.store().counters().clone()));
        let mut edge_feats = 0;
        if let Some(features) = edge_features.transpose()? {
            edge_feats = features.width();
            let all = setup.gather(&[edge_feats])?;
            setup.check_widths(&[edge_feats], all.iter().map(<[i64; 1]>::as_slice))?;
            let read = Rc::new(move |edges: &[u64]| features.read(edges, KIND));
            graph.set_edge_source(EdgeSource { width: edge_feats, kind: KIND, read });
        }
        Ok(WholeGraph { graph, features, num_rels: partition.book().etypes().len(), edge_feats })
    }

    /// The graph as one block, for a pass that is one-shot.
    pub(super) fn one_shot(&self, pass: Pass) -> Result<Option<FullPartitionGraph<'_>>> {
        (pass == Pass::OneShot).then(|| self.graph.get_full_partition_graph()).transpose()
    }

    /// Input of a model: the features, or the result of the model's precomputation; for all own nodes, or for these rows.
    pub(super) fn model_input(
        &self,
        setup: &RankSetup,
        model: &dyn Model,
        parameters: &Rc<ParameterSet>,
        graph: &dyn Graph,
        rows: Option<&Pointer<Vec<u32>>>,
    ) -> Result<PointerTensor> {
        let features = self.features.all(setup)?;
        let mut tape = Tape::evaluation(&setup.manager, parameters);
        let features = tape.input(&features);
        Ok(model.precompute(&mut tape, graph, features, rows)?.value())
    }
}

impl RankGraph for WholeGraph {
    type Model = Box<dyn Model>;

    fn labelled(&self, setup: &RankSetup) -> Result<Vec<Labelled>> {
        Ok(vec![Labelled::all(setup, &self.graph)?])
    }

    fn stored_out_feats(&self, run: &RunConfig, path: &Path) -> Result<Vec<i64>> {
        Ok(vec![stored_out_feats(path, &run.model)?])
    }

    fn model(
        &self,
        run: &RunConfig,
        parameters: &mut ParameterBuilder,
        out_feats: &[i64],
    ) -> Result<Box<dyn Model>> {
        let sizes = Sizes {
            in_feats: self.features.width(),
            out_feats: out_feats.iter().sum(),
            num_rels: self.num_rels,
            edge_feats: self.edge_feats,
        };
        run.model.build(parameters, sizes)
    }

    fn out_degrees(&self, _setup: &RankSetup) -> Result<Vec<u32>> {
        let degrees = self.graph.out_degrees().pin()?;
        Ok(tensor::slice::<i64>(&degrees).iter().map(|degree| *degree as u32).collect())
    }

    fn batch_inputs(&self, setup: &RankSetup, assignment: Assignment<'_>) -> Result<BatchInputs> {
        BatchInputs::of_all_types(setup, &self.features, assignment)
    }
}
