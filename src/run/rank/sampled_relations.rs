//! Training on sampled neighbourhoods, with a layer per edge type.

use super::assignment::Assignment;
use super::batches;
use super::node_training::Samples;
use super::relation_layers::RelationLayers;
use super::setup::RankSetup;
use crate::error::Result;
use crate::run::config::{Pass, Relations};
use crate::train::{HeteroBatches, RelationDegrees, SamplingConfig};

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
    let degrees = assignment.config.model.kind.uses_out_degrees().then(|| {
        let book = setup.partition.book();
        RelationDegrees::new(&hetero.graph, book, assignment.here.folder, setup.ranks())
    });
    let of_batches = HeteroBatches::new(model, &inputs, optimizer, degrees.transpose()?);
    let of_batches = of_batches.in_own_columns();
    let samples = Samples {
        model: &of_batches,
        loader: &loaders.train,
        reduce: sampling.reduce,
        evaluation: loaders.evaluation.as_ref(),
    };
    training.run(assignment, pass, &inputs, Some(samples))
}
