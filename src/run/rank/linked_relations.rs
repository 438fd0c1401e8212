//! Training for link prediction, with a layer per edge type.

use std::rc::Rc;

use super::assignment::Assignment;
use super::batch_inputs::BatchInputs;
use super::batches::open_index;
use super::hetero_graph::RankHeteroGraph;
use super::link_training::{LinkModel, LinkTraining};
use super::setup::KIND;
use crate::error::Result;
use crate::run::config::Relations;
use crate::train::{BatchModel, HeteroBatches, LinkLoaders};

/// Trains a model whose output rows, as wide as its hidden layers, are compared in pairs. Learned rows stay on disk.
pub(super) fn train(training: LinkTraining<'_>, relations: &Relations) -> Result<()> {
    let LinkTraining { setup, assignment, link, .. } = training;
    let Assignment { here, config, .. } = assignment;
    let hetero = RankHeteroGraph::new(setup, config, relations, None)?;
    let mut builder = config.parameters();
    let width = config.model.hidden;
    let model = hetero.model(&mut builder, &vec![width; hetero.targets.len()])?;
    let score = link.score(&mut builder, width, setup.partition.book());
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    let (inputs, optimizer) = hetero.stored_inputs(setup, here.folder, config.seed)?;
    let degrees = hetero.relation_degrees(setup, here.folder)?;
    let batches = HeteroBatches::new(&model, &inputs, optimizer, degrees);
    if let Some(path) = &config.init_params {
        hetero.load(setup, path, &parameters, &batches.learned_rows())?;
    }
    let loaders = loaders(training, &hetero)?;
    setup.sync(&parameters)?;
    let texts = hetero.texts(setup);
    let of = LinkModel { model: &batches, score: &score, parameters: &parameters, texts };
    training.run(of, &loaders)
}

fn loaders(training: LinkTraining<'_>, hetero: &RankHeteroGraph) -> Result<LinkLoaders> {
    let LinkTraining { setup, assignment, .. } = training;
    let inputs = BatchInputs::by_type(setup, hetero, assignment)?;
    let degrees = hetero.out_degrees(setup)?;
    let open =
        |keys: &_, drawn: &_| open_index(setup, &degrees, assignment.here, keys, Some(drawn));
    training.loaders(&open, &inputs)
}
