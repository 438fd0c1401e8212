//! Training of a model with a layer per edge type.

use super::batches;
use super::hetero_graph::RankHeteroGraph;
use super::mfg::{LabelledRelations, tell_share_of_edges};
use super::node_model::NodeModel;
use super::node_training::{NodeTraining, Samples};
use crate::engine::tape::HeteroGraphShardManager;
use crate::run::config::Pass;
use crate::train::{BatchModel, Forward, HeteroBatches, HeteroModel, NodeInput, SamplingConfig};
use crate::words::error::Result;

impl NodeModel<'_, RankHeteroGraph> {
    /// Trains on batches if the run is sampled, otherwise on all nodes. With batches, learned rows stay on disk. `pass`
    /// applies to steps and evaluations on the full graph.
    pub(super) fn train(mut self, pass: Pass, sampling: Option<&SamplingConfig>) -> Result<()> {
        let NodeTraining { setup, assignment, facts, parameters, .. } = &self.training;
        let config = assignment.config;
        let Some(sampling) = sampling else {
            if config.model.repeats_sums() && pass == Pass::Sequential {
                self.graph.graph.cover_sums()?;
            }
            let inputs = self.graph.inputs(setup, config.seed)?;
            let rows = self.forward(&inputs);
            self.graph.load_initial(*assignment, parameters, &rows.all_rows())?;
            setup.sync(parameters)?;
            return self.run(pass, &inputs, None);
        };
        let folder = assignment.here.folder;
        let (inputs, optimizer) = self.graph.stored_inputs(setup, folder, config.seed)?;
        let rows = self.forward(&inputs);
        self.graph.load_initial(*assignment, parameters, &rows.all_rows())?;
        let loaders = batches::of_graph(setup, &self.graph, *assignment, sampling, facts)?;
        setup.sync(parameters)?;
        let degrees = self.graph.relation_degrees(setup, folder)?;
        let of_batches = HeteroBatches::new(&self.model, &inputs, optimizer, degrees);
        let of_batches: &dyn BatchModel = &of_batches.in_own_columns();
        self.run(pass, &inputs, Some(Samples { model: of_batches, loaders: &loaders }))
    }

    fn run(&self, pass: Pass, inputs: &[NodeInput], samples: Option<Samples<'_>>) -> Result<()> {
        let NodeTraining { setup, assignment, facts, .. } = &self.training;
        let (full, layers) = (&self.graph.graph, self.model.num_layers());
        let train = |forward: &dyn Forward, nodes| self.training.run(forward, nodes, samples);
        match pass {
            Pass::Sequential => train(&self.forward(inputs), None),
            Pass::OneShot => {
                let graph = full.get_full_partition_graphs()?;
                let (model, graphs) = (&self.model, vec![&graph; layers]);
                train(&HeteroModel { model, graphs, inputs, sources: None }, None)
            }
            Pass::MessageFlow => {
                let mut mfgs = LabelledRelations::new(setup, &self.graph, facts, layers)?;
                if assignment.config.model.repeats_sums() && samples.is_none() {
                    mfgs.graphs.iter_mut().try_for_each(HeteroGraphShardManager::cover_sums)?;
                }
                let edges = mfgs.graphs.iter().map(HeteroGraphShardManager::num_edges);
                tell_share_of_edges(setup, assignment.here, full.num_edges()?, edges)?;
                let (graphs, sources) = (mfgs.graphs.iter().collect(), Some(&mfgs.sources[..]));
                let forward = HeteroModel { model: &self.model, graphs, inputs, sources };
                train(&forward, Some(&mfgs.nodes))
            }
        }
    }

    /// The model on the whole graph.
    fn forward<'f>(&'f self, inputs: &'f [NodeInput]) -> HeteroModel<'f> {
        let graphs = vec![&self.graph.graph; self.model.num_layers()];
        HeteroModel { model: &self.model, graphs, inputs, sources: None }
    }
}
