//! A model for a node-level task, before its training.

use super::assignment::Assignment;
use super::labels::{goal, take_up_labels};
use super::node_training::NodeTraining;
use super::rank_graph::{BuiltModel, RankGraph};
use super::setup::RankSetup;
use crate::train::Checkpoint;
use crate::words::error::Result;

/// A model with its graph and labels.
pub(super) struct NodeModel<'a, G: RankGraph> {
    pub(super) graph: G,
    pub(super) model: G::Model,
    pub(super) training: NodeTraining<'a>,
}

impl<'a, G: RankGraph> NodeModel<'a, G> {
    /// Reads labels, and creates the model.
    pub(super) fn new(setup: &'a RankSetup, assignment: Assignment<'a>, graph: G) -> Result<Self> {
        let Assignment { here, config, .. } = assignment;
        let resumed = assignment.resumed.map(Checkpoint::open).transpose()?;
        let resumed = resumed.map(|checkpoint| checkpoint.outputs).unwrap_or_default();
        let stored = match &config.init_params {
            // Checkpoints of earlier versions do not have the numbers.
            Some(path) if resumed.is_empty() => Some(graph.stored_out_feats(config, path)?),
            given => given.as_ref().map(|_| resumed),
        };
        let labelled = graph.labelled(setup)?;
        let facts = take_up_labels(setup, config, here, labelled, stored.as_deref())?;
        let goal = goal(setup, config, &facts)?;
        let BuiltModel { model, parameters, .. } =
            BuiltModel::new(setup, config, &graph, &facts.widths())?;
        let texts = graph.texts(setup)?;
        let training = NodeTraining { setup, assignment, facts, goal, parameters, texts };
        Ok(NodeModel { graph, model, training })
    }
}
