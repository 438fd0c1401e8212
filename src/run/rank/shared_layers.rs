//! A model with one layer for all edge types, before its training.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::assignment::Assignment;
use super::batches::NodeLoaders;
use super::labelled::Labelled;
use super::labels::{Goal, LabelFacts, goal, take_up_labels};
use super::mfg::LabelledMfgs;
use super::node_training::{NodeTraining, Samples};
use super::setup::{KIND, RankSetup};
use super::whole_graph::WholeGraph;
use crate::engine::tape::{Graph, ParameterSet};
use crate::error::Result;
use crate::nn::{Model, load_state_dict, stored_out_feats};
use crate::run::config::Pass;
use crate::train::{GraphBatches, GraphModel};

/// The model with its graph and labels.
pub(super) struct SharedLayers<'s> {
    pub(super) setup: &'s RankSetup,
    pub(super) whole: WholeGraph,
    /// The nodes with labels.
    pub(super) facts: LabelFacts,
    pub(super) goal: Goal,
    pub(super) model: Box<dyn Model>,
    pub(super) parameters: Rc<ParameterSet>,
}

impl<'s> SharedLayers<'s> {
    /// Reads graph and labels, and creates the model with its initial values.
    pub(super) fn new(setup: &'s RankSetup, assignment: Assignment<'_>) -> Result<Self> {
        let Assignment { here, config, .. } = assignment;
        let whole = WholeGraph::new(setup, config, None)?;
        let stored = config.init_params.as_ref();
        let stored = stored.map(|path| stored_out_feats(path, &config.model).map(|one| [one]));
        let labelled = Labelled::all(setup, &whole.graph)?;
        let facts = take_up_labels(
            setup,
            config,
            here,
            vec![labelled],
            stored.transpose()?.as_ref().map(|one| &one[..]),
        )?;
        let goal = goal(setup, config, &facts)?;
        let mut builder = config.parameters();
        let model = config.model.build(&mut builder, whole.sizes(facts.outputs()))?;
        let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
        if let (Some(path), 0) = (&config.init_params, here.rank) {
            load_state_dict(path, &parameters, &[])?;
        }
        Ok(SharedLayers { setup, whole, facts, goal, model, parameters })
    }

    /// Trains on batches if the run is sampled, otherwise on all nodes. `pass` applies to steps and evaluations on the
    /// full graph.
    pub(super) fn run(
        self,
        assignment: Assignment<'_>,
        pass: Pass,
        loaders: Option<&NodeLoaders>,
    ) -> Result<()> {
        let SharedLayers { setup, mut whole, facts, goal, model, parameters } = self;
        let Assignment { here, config, .. } = assignment;
        setup.sync(&parameters)?;
        let num_graphs = config.model.num_graphs();
        let sums = config.model.repeats_sums() && loaders.is_none();
        if sums && pass == Pass::Sequential {
            whole.graph.cover_sums()?;
        }
        let one_shot = (pass == Pass::OneShot).then(|| whole.graph.get_full_partition_graph());
        let one_shot = one_shot.transpose()?;
        let graph: &dyn Graph = match &one_shot {
            Some(graph) => graph,
            None => &whole.graph,
        };
        let input = whole.model_input(setup, &*model, &parameters, graph, None)?;
        let mfgs = (pass == Pass::MessageFlow)
            .then(|| LabelledMfgs::new(setup, &whole.graph, &input, &facts, num_graphs));
        let mut mfgs = mfgs.transpose()?;
        for graph in mfgs.iter_mut().flat_map(|mfgs| &mut mfgs.graphs).filter(|_| sums) {
            graph.cover_sums()?;
        }
        let (graphs, features) = match &mfgs {
            Some(LabelledMfgs { graphs, features, .. }) => {
                let graphs = graphs.iter().map(|graph| graph as &dyn Graph).collect();
                (graphs, features.clone())
            }
            None => (vec![graph; num_graphs], input),
        };
        if let Some(mfgs) = mfgs.as_ref().filter(|mfgs| !mfgs.graphs.is_empty()) {
            mfgs.tell_share_of_edges(setup, here, &whole.graph)?;
        }
        let forward = GraphModel { model: &*model, graphs, features };
        let edge_types = config.model.kind.uses_edge_types();
        let of_batches = GraphBatches { model: &*model, edge_types };
        let samples = loaders.map(|loaders| Samples { model: &of_batches, loaders });
        let training = NodeTraining {
            setup,
            facts: &facts,
            goal: &goal,
            parameters: &parameters,
            forward: &forward,
            nodes: mfgs.as_ref().map(|mfgs| &mfgs.nodes),
            texts: BTreeMap::new(),
        };
        training.run(assignment, samples)
    }
}
