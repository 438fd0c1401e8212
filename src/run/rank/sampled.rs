//! Training on sampled neighbourhoods, with one layer for all edge types.

use super::assignment::Assignment;
use super::batches;
use super::setup::RankSetup;
use super::shared_layers::SharedLayers;
use crate::error::Result;
use crate::run::config::Pass;
use crate::train::SamplingConfig;

/// Trains on batches of nodes, and evaluates on the full graph; a model that propagates features once, on labelled nodes.
pub(super) fn train(
    setup: &RankSetup,
    assignment: Assignment<'_>,
    sampling: &SamplingConfig,
    pass: Pass,
) -> Result<()> {
    let training = SharedLayers::new(setup, assignment)?;
    if assignment.config.model.kind.propagates_once() {
        return training.run_on_rows(assignment, pass, sampling);
    }
    let SharedLayers { whole, facts, .. } = &training;
    let loaders = batches::of_shared_layers(setup, whole, assignment, sampling, facts)?;
    training.run(assignment, pass, Some(&loaders))
}
