//! A model with a layer per edge type, before its training.

use std::rc::Rc;

use super::assignment::Assignment;
use super::hetero_graph::RankHeteroGraph;
use super::labels::{Goal, LabelFacts, goal, take_up_labels};
use super::mfg::{LabelledNodes, LabelledRelations};
use super::node_training::{NodeTraining, Samples};
use super::setup::{KIND, RankSetup};
use crate::engine::tape::{HeteroGraphShardManager, ParameterSet};
use crate::error::Result;
use crate::nn::HeteroStack;
use crate::run::config::{Pass, Relations, RunConfig};
use crate::train::{Forward, HeteroModel, NodeInput};

/// The model with its graph and labels.
pub(super) struct RelationLayers<'s> {
    setup: &'s RankSetup,
    pub(super) hetero: RankHeteroGraph,
    pub(super) facts: LabelFacts,
    goal: Goal,
    pub(super) model: HeteroStack,
    pub(super) parameters: Rc<ParameterSet>,
}

impl<'s> RelationLayers<'s> {
    /// Reads graph and labels, and creates the model.
    pub(super) fn new(
        setup: &'s RankSetup,
        assignment: Assignment<'_>,
        relations: &Relations,
    ) -> Result<Self> {
        let config = assignment.config;
        let hetero = RankHeteroGraph::new(setup, config, relations, None)?;
        let stored = config.init_params.as_ref().map(|path| hetero.stored_out_feats(path));
        let labelled = hetero.labelled(setup)?;
        let facts = take_up_labels(
            setup,
            config,
            assignment.here,
            labelled,
            stored.transpose()?.as_deref(),
        )?;
        let goal = goal(setup, config, &facts)?;
        let mut builder = config.parameters();
        let model = hetero.model(&mut builder, &facts.widths())?;
        let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
        Ok(RelationLayers { setup, hetero, facts, goal, model, parameters })
    }

    /// Loads the run's initial values, including learned rows.
    pub(super) fn load(&self, assignment: Assignment<'_>, inputs: &[NodeInput]) -> Result<()> {
        let Some(path) = &assignment.config.init_params else { return Ok(()) };
        let learned = self.forward(inputs);
        self.hetero.load(self.setup, path, &self.parameters, &learned.all_rows())
    }

    /// Reduces the rows that sums along edges send between ranks, if the model works on the whole graph repeatedly.
    pub(super) fn cover_sums(&mut self, config: &RunConfig, pass: Pass) -> Result<()> {
        if config.model.repeats_sums() && pass == Pass::Sequential {
            self.hetero.graph.cover_sums()?;
        }
        Ok(())
    }

    /// Trains on batches if the run is sampled, otherwise on all nodes. `pass` applies to steps and evaluations on the
    /// full graph.
    pub(super) fn run(
        &self,
        assignment: Assignment<'_>,
        pass: Pass,
        inputs: &[NodeInput],
        samples: Option<Samples<'_>>,
    ) -> Result<()> {
        let (setup, full, layers) = (self.setup, &self.hetero.graph, self.model.num_layers());
        match pass {
            Pass::Sequential => self.train(assignment, &self.forward(inputs), None, samples),
            Pass::OneShot => {
                let graph = full.get_full_partition_graphs()?;
                let (model, graphs) = (&self.model, vec![&graph; layers]);
                let forward = HeteroModel { model, graphs, inputs, sources: None };
                self.train(assignment, &forward, None, samples)
            }
            Pass::MessageFlow => {
                let mut mfgs = LabelledRelations::new(setup, &self.hetero, &self.facts, layers)?;
                if assignment.config.model.repeats_sums() && samples.is_none() {
                    mfgs.graphs.iter_mut().try_for_each(HeteroGraphShardManager::cover_sums)?;
                }
                mfgs.tell_share_of_edges(setup, assignment.here, full)?;
                let (graphs, sources) = (mfgs.graphs.iter().collect(), Some(&mfgs.sources[..]));
                let forward = HeteroModel { model: &self.model, graphs, inputs, sources };
                self.train(assignment, &forward, Some(&mfgs.nodes), samples)
            }
        }
    }

    /// Trains with a forward pass for all nodes, or, if they are given, only for labelled nodes.
    fn train(
        &self,
        assignment: Assignment<'_>,
        forward: &dyn Forward,
        labelled: Option<&LabelledNodes>,
        samples: Option<Samples<'_>>,
    ) -> Result<()> {
        let training = NodeTraining {
            setup: self.setup,
            facts: &self.facts,
            goal: &self.goal,
            parameters: &self.parameters,
            forward,
            nodes: labelled,
            texts: self.hetero.texts(self.setup),
        };
        training.run(assignment, samples)
    }

    /// The model on the whole graph.
    fn forward<'f>(&'f self, inputs: &'f [NodeInput]) -> HeteroModel<'f> {
        let graphs = vec![&self.hetero.graph; self.model.num_layers()];
        HeteroModel { model: &self.model, graphs, inputs, sources: None }
    }
}
