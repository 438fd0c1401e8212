//! A model with a layer per edge type, before its training.

use std::rc::Rc;

use tch::Tensor;

use super::assignment::Assignment;
use super::hetero_graph::RankHeteroGraph;
use super::labels::{Goal, LabelFacts, goal, take_up_labels};
use super::node_training::{NodeTraining, Samples};
use super::setup::{KIND, RankSetup};
use crate::engine::tape::{ParameterBuilder, ParameterSet};
use crate::error::Result;
use crate::nn::HeteroStack;
use crate::run::config::Relations;
use crate::train::{Forward, HeteroModel, NodeInput};

/// The model with its graph and labels.
pub(super) struct RelationLayers<'s> {
    setup: &'s RankSetup,
    pub(super) hetero: RankHeteroGraph,
    facts: LabelFacts,
    goal: Goal,
    pub(super) model: HeteroStack,
    pub(super) parameters: Rc<ParameterSet>,
}

impl<'s> RelationLayers<'s> {
    /// Reads graph and labels, and makes the model.
    pub(super) fn new(
        setup: &'s RankSetup,
        assignment: Assignment<'_>,
        relations: &Relations,
    ) -> Result<Self> {
        let config = assignment.config;
        let hetero = RankHeteroGraph::new(setup, config, relations)?;
        let stored = config.init_params.as_ref().map(|path| hetero.stored_out_feats(path));
        let labelled = hetero.labelled(setup)?;
        let facts = take_up_labels(setup, config, assignment.here, labelled, stored.transpose()?)?;
        let goal = goal(setup, config, &facts)?;
        let mut builder = ParameterBuilder::new(config.seed);
        let model = hetero.model(&mut builder, facts.outputs)?;
        let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
        Ok(RelationLayers { setup, hetero, facts, goal, model, parameters })
    }

    /// Takes over the start values that the run is given, those of learned rows included.
    pub(super) fn load(&self, assignment: Assignment<'_>, inputs: &[NodeInput]) -> Result<()> {
        let Some(path) = &assignment.config.init_params else { return Ok(()) };
        let learned = self.forward(inputs);
        self.hetero.load(self.setup, path, &self.parameters, &learned.all_rows())
    }

    /// Trains on batches if there are some, and else on all nodes.
    pub(super) fn run(
        &self,
        assignment: Assignment<'_>,
        inputs: &[NodeInput],
        samples: Option<Samples<'_>>,
    ) -> Result<()> {
        let texts = self.hetero.texts(self.setup);
        let training = NodeTraining {
            setup: self.setup,
            facts: &self.facts,
            goal: &self.goal,
            parameters: &self.parameters,
            forward: &self.forward(inputs),
            labels: self.facts.labels.clone(),
            masks: self.facts.masks.clone(),
            all_rows: &|logits: &Tensor| Ok(logits.shallow_clone()),
            texts,
        };
        training.run(assignment, samples)
    }

    fn forward<'f>(&'f self, inputs: &'f [NodeInput]) -> HeteroModel<'f> {
        HeteroModel { model: &self.model, graph: &self.hetero.graph, inputs }
    }
}
