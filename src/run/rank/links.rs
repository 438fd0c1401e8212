//! Training for link prediction, with one layer for all edge types.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::assignment::Assignment;
use super::batch_inputs::BatchInputs;
use super::batches::open_graph;
use super::link_training::{LinkModel, LinkTraining};
use super::setup::KIND;
use super::whole_graph::WholeGraph;
use crate::error::Result;
use crate::nn::load_state_dict;
use crate::train::{GraphBatches, LinkLoaders};

/// Trains a model whose output rows, as wide as its hidden layers, are compared in pairs.
pub(super) fn train(training: LinkTraining<'_>) -> Result<()> {
    let LinkTraining { setup, assignment, link, .. } = training;
    let Assignment { here, config, .. } = assignment;
    let whole = WholeGraph::new(setup, config, None)?;
    let mut builder = config.parameters();
    let width = config.model.hidden;
    let model = config.model.build(&mut builder, whole.sizes(width))?;
    let score = link.score(&mut builder, width, setup.partition.book());
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    if let (Some(path), 0) = (&config.init_params, here.rank) {
        load_state_dict(path, &parameters, &[])?;
    }
    let loaders = loaders(training, &whole)?;
    setup.sync(&parameters)?;
    let edge_types = config.model.kind.uses_edge_types();
    let model = GraphBatches { model: &*model, edge_types };
    let texts = BTreeMap::new();
    let of = LinkModel { model: &model, score: &score, parameters: &parameters, texts };
    training.run(of, &loaders)
}

fn loaders(training: LinkTraining<'_>, whole: &WholeGraph) -> Result<LinkLoaders> {
    let LinkTraining { setup, assignment, .. } = training;
    let inputs = BatchInputs::of_all_types(setup, &whole.features, assignment)?;
    let open =
        |keys: &_, drawn: &_| open_graph(setup, &whole.graph, assignment.here, keys, Some(drawn));
    training.loaders(&open, &inputs)
}
