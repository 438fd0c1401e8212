//! Training of a model with one layer for all edge types.

use super::batches;
use super::mfg::{LabelledMfgs, tell_share_of_edges};
use super::node_model::NodeModel;
use super::node_training::{NodeTraining, Samples};
use super::whole_graph::WholeGraph;
use crate::engine::tape::Graph;
use crate::run::config::Pass;
use crate::train::{GraphBatches, GraphModel, SamplingConfig};
use crate::words::error::Result;

impl NodeModel<'_, WholeGraph> {
    /// Trains on batches if the run is sampled, otherwise on all nodes. Batches of a model that propagates features once
    /// are labelled nodes. `pass` applies to steps and evaluations on the full graph.
    pub(super) fn train(self, pass: Pass, sampling: Option<&SamplingConfig>) -> Result<()> {
        let NodeTraining { setup, assignment, facts, parameters, .. } = &self.training;
        let (assignment, config) = (*assignment, assignment.config);
        assignment.load_initial(parameters)?;
        let on_rows = sampling.filter(|_| config.model.kind.propagates_once());
        if let Some(sampling) = on_rows {
            return self.train_on_rows(pass, sampling);
        }
        let loaders =
            sampling.map(|how| batches::of_graph(setup, &self.graph, assignment, how, facts));
        let loaders = loaders.transpose()?;
        setup.sync(parameters)?;
        let NodeModel { graph: mut whole, model, training } = self;
        let NodeTraining { setup, facts, parameters, .. } = &training;
        let num_graphs = config.model.num_graphs();
        let sums = config.model.repeats_sums() && loaders.is_none();
        if sums && pass == Pass::Sequential {
            whole.graph.cover_sums()?;
        }
        let one_shot = whole.one_shot(pass)?;
        let graph = one_shot.as_ref().map_or(&whole.graph as &dyn Graph, |graph| graph);
        let input = whole.model_input(setup, &*model, parameters, graph, None)?;
        let mfgs = (pass == Pass::MessageFlow)
            .then(|| LabelledMfgs::new(setup, &whole.graph, &input, facts, num_graphs));
        let mut mfgs = mfgs.transpose()?;
        for graph in mfgs.iter_mut().flat_map(|mfgs| &mut mfgs.graphs).filter(|_| sums) {
            graph.cover_sums()?;
        }
        let (graphs, features) = match &mfgs {
            Some(LabelledMfgs { graphs, features, .. }) => {
                let graphs: Vec<_> = graphs.iter().map(|graph| graph as &dyn Graph).collect();
                if !graphs.is_empty() {
                    let edges = graphs.iter().map(|graph| graph.num_edges());
                    tell_share_of_edges(setup, assignment.here, whole.graph.num_edges()?, edges)?;
                }
                (graphs, features.clone())
            }
            None => (vec![graph; num_graphs], input),
        };
        let forward = GraphModel { model: &*model, graphs, features };
        let edge_types = config.model.kind.spec().edge_types;
        let of_batches = GraphBatches { model: &*model, edge_types };
        let samples = loaders.as_ref().map(|loaders| Samples { model: &of_batches, loaders });
        training.run(&forward, mfgs.as_ref().map(|mfgs| &mfgs.nodes), samples)
    }
}
