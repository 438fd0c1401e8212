//! Training on sampled neighbourhoods, with a layer per edge type.

use super::assignment::Assignment;
use super::batches;
use super::node_training::Samples;
use super::relation_layers::RelationLayers;
use super::setup::RankSetup;
use crate::error::Result;
use crate::run::config::{Pass, Relations};
use crate::train::{HeteroBatches, SamplingConfig};

/// Trains on batches of nodes, and evaluates on the full graph. Learned rows stay on disk.
pub(super) fn train(
    setup: &RankSetup,
    assignment: Assignment<'_>,
    sampling: &SamplingConfig,
    relations: &Relations,
    pass: Pass,
) -> Result<()> {
    let training = RelationLayers::new(setup, assignment, relations)?;
    let RelationLayers { hetero, facts, model, parameters, .. } = &training;
    let (inputs, optimizer) =
        hetero.stored_inputs(setup, assignment.here.folder, assignment.config.seed)?;
    training.load(assignment, &inputs)?;
    let loaders = batches::of_relations(setup, hetero, assignment, sampling, facts)?;
    setup.sync(parameters)?;
    let degrees = hetero.relation_degrees(setup, assignment.here.folder)?;
    let of_batches = HeteroBatches::new(model, &inputs, optimizer, degrees);
    let of_batches = of_batches.in_own_columns();
    let samples = Samples { model: &of_batches, loaders: &loaders };
    training.run(assignment, pass, &inputs, Some(samples))
}
