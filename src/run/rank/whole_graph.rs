//! A rank's part of a graph that has one node type, or is treated as if it had.

use std::rc::Rc;

use super::setup::{KIND, RankSetup};
use crate::engine::spill::{ComputeDtype, Pointer, PointerTensor};
use crate::engine::tape::{EdgeSource, Graph, GraphShardManager, ParameterSet, Tape};
use crate::error::Result;
use crate::load::{EdgeData, EdgeFeatures, NodeFeatures, construct_full_graph};
use crate::nn::{Model, Sizes};
use crate::run::config::run_config::RunConfig;

/// The graph with its node features.
pub(super) struct WholeGraph {
    /// The graph.
    pub(super) graph: GraphShardManager,
    /// Input features of all own nodes.
    stored: NodeFeatures,
    /// Whether few of the features' values are not zero, and products use only these.
    few_entries: bool,
    in_feats: i64,
    num_rels: usize,
    edge_feats: i64,
}

impl WholeGraph {
    /// Reads the partition and builds the graph, of all edges or of those [within](EdgeData::within) it. Two collectives.
    pub(super) fn new(setup: &RankSetup, run: &RunConfig, within: Option<&[bool]>) -> Result<Self> {
        let RankSetup { manager, group, partition } = setup;
        let key = run.keys.features.as_deref();
        let features = NodeFeatures::find(partition, key, run.normalize_features)?
            // Samplers read single rows between passes over all of them.
            .leaving_cache(run.sampling.is_none() || run.model.kind.propagates_once());
        let columns = EdgeData {
            weight: run.keys.edge_weight.as_deref(),
            types: run.model.kind.uses_edge_types(),
            ids: run.keys.edge_features.is_some(),
            within,
        };
        let mut graph = construct_full_graph(manager, group, partition, columns)?;
        if run.model.kind.normalises_edge_weights() {
            graph.normalise_edge_weights()?;
        }
        let in_feats = features.width();
        // Batches of samples have rows of matrices, and propagation uses matrices.
        let products = run.sampling.is_none() && !run.model.kind.propagates_once();
        let few =
            products && run.compute_dtype == ComputeDtype::F32 && features.has_few_entries()?;
        let (stored, few_entries) = setup.agree_on_features(features, few)?;
        let edge_features = run
            .keys
            .edge_features
            .as_deref()
            .map(|key| EdgeFeatures::find(partition, key, manager.store().counters().clone()));
        let mut edge_feats = 0;
        if let Some(features) = edge_features.transpose()? {
            edge_feats = features.width();
            setup.check_widths(&[edge_feats])?;
            let read = Rc::new(move |edges: &[u64]| features.read(edges, KIND));
            graph.set_edge_source(EdgeSource { width: edge_feats, kind: KIND, read });
        }
        Ok(WholeGraph {
            graph,
            stored,
            few_entries,
            in_feats,
            num_rels: partition.book().etypes().len(),
            edge_feats,
        })
    }

    /// Sizes of a model with `out_feats` outputs.
    pub(super) fn sizes(&self, out_feats: i64) -> Sizes {
        Sizes {
            in_feats: self.in_feats,
            out_feats,
            num_rels: self.num_rels,
            edge_feats: self.edge_feats,
        }
    }

    /// Features of selected own nodes, ascending. Only these rows are read from the partition.
    pub(super) fn rows(&self, setup: &RankSetup, rows: Vec<u32>) -> Result<PointerTensor> {
        if self.few_entries {
            return setup.track_entries(&self.stored, &rows);
        }
        Ok(setup.track_rows(self.stored.clone(), rows))
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
        let features = if self.few_entries {
            let rows: Vec<u32> = (0..self.stored.size()[0] as u32).collect();
            setup.track_entries(&self.stored, &rows)?
        } else {
            setup.track_features(self.stored.clone())
        };
        let mut tape = Tape::evaluation(&setup.manager, parameters);
        let features = tape.input(&features);
        Ok(model.precompute(&mut tape, graph, features, rows)?.value())
    }
}
