//! Training on the full graph, with a layer per edge type.

use super::assignment::Assignment;
use super::relation_layers::RelationLayers;
use super::setup::RankSetup;
use crate::error::Result;
use crate::run::config::{Pass, Relations};

/// Trains with steps over all nodes.
pub(super) fn train(
    setup: &RankSetup,
    assignment: Assignment<'_>,
    relations: &Relations,
    pass: Pass,
) -> Result<()> {
    let mut training = RelationLayers::new(setup, assignment, relations)?;
    training.cover_sums(assignment.config, pass)?;
    let inputs = training.hetero.inputs(setup, assignment.config.seed)?;
    training.load(assignment, &inputs)?;
    setup.sync(&training.parameters)?;
    training.run(assignment, pass, &inputs, None)
}
