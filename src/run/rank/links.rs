//! A rank's part of training that predicts edges.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::assignment::Assignment;
use super::batches::{edge_features, open_graph, with_edge_features};
use super::epochs::run_epochs;
use super::files::pending_weights;
use super::setup::{KIND, Passes, RankSetup};
use super::whole_graph::WholeGraph;
use crate::engine::tape::{Graph, ParameterBuilder};
use crate::error::Result;
use crate::event::Event;
use crate::load::{EdgeUse, NodeColumn};
use crate::nn::{load_state_dict, save_state_dict};
use crate::run::config::LinkConfig;
use crate::sampling::loaders::{DistEdgeDataLoader, Exclude, NegativeSampler};
use crate::sampling::stores::IndexConfig;
use crate::train::{FEATURES, LinkLoaders, LinkTrainer, SamplingConfig, Training};

/// Trains a model whose rows, as wide as its hidden layers, are compared in pairs.
pub(super) fn train(
    assignment: Assignment<'_>,
    link: &LinkConfig,
    sampling: &SamplingConfig,
) -> Result<()> {
    let Assignment { here, config, .. } = assignment;
    let setup = RankSetup::new(here, Passes::Batches)?;
    let whole = WholeGraph::new(&setup, config)?;
    let mut builder = ParameterBuilder::new(config.seed);
    let width = config.model.hidden;
    let model = config.model.build(&mut builder, whole.sizes(width))?;
    let score = link.score(&mut builder, width);
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    if let (Some(path), 0) = (&config.init_params, here.rank) {
        load_state_dict(path, &parameters, &[])?;
    }
    let loaders = loaders(&setup, &whole.graph, assignment, link, sampling)?;
    setup.sync(&parameters)?;
    // From here on ranks take turns for their batches, or none at all.
    setup.manager.precall_func()?;
    let report = |report| here.events.send(Event::Batch(report));
    let trainer = LinkTrainer {
        manager: &setup.manager,
        group: &*setup.group,
        model: &*model,
        score: &score,
        parameters: &parameters,
        seed: config.seed,
        policy: config.policy,
        reduce: sampling.reduce,
        edge_types: config.model.kind.uses_edge_types(),
        log: assignment.step_log(&report),
    };
    let training = Training::of_links(&trainer, &loaders, config.regime())?;
    let finite = run_epochs(training, assignment, &setup.manager)?;
    setup.manager.callback_func()?;
    if finite {
        let texts = BTreeMap::from([config.text_of_weights()?]);
        save_state_dict(&pending_weights(&config.out), &parameters, &[], &texts, setup.ranks())?;
    }
    drop((loaders, parameters, whole));
    setup.end()
}

/// The loaders of the rank's edges, by their use. Messages pass along training edges only, and in training not between the ends
/// of the batch's edges.
fn loaders(
    setup: &RankSetup,
    graph: &dyn Graph,
    assignment: Assignment<'_>,
    link: &LinkConfig,
    sampling: &SamplingConfig,
) -> Result<LinkLoaders> {
    let Assignment { here, config, .. } = assignment;
    let edge_features = edge_features(setup, assignment)?;
    let RankSetup { manager, partition, .. } = setup;
    let uses = link.split.uses(partition, config.seed)?;
    let drawn: Vec<f32> =
        uses.iter().map(|edge| f32::from(u8::from(*edge == EdgeUse::Train))).collect();
    let weight = config.keys.edge_weight.clone();
    let keys = IndexConfig { weight, drawn: true, ends: true, probability: None };
    let graph = Arc::new(open_graph(setup, graph, here, &keys, Some(&drawn))?);
    let counters = manager.store().counters();
    let key = config.keys.features.as_deref();
    let normalize = config.normalize_features;
    let features = NodeColumn::features(here.partitions, key, normalize, counters.clone())?;
    let first = partition.book().edge_range(here.rank).start;
    let loader = |of: EdgeUse, exclude: Exclude| {
        let edges = uses.iter().zip(first..).filter(|(edge, _)| **edge == of);
        let edges: Vec<u64> = edges.map(|(_, id)| id).collect();
        let sampler = sampling.sampler(config.model.num_graphs(), partition.book(), false)?;
        let sampler = sampler.weighted(true);
        let sampler = sampler.in_degrees(config.model.kind.uses_in_degrees());
        let sampler = sampler.out_degrees(config.model.kind.uses_out_degrees());
        let sampler = sampler.input_node_feature(FEATURES, features.clone());
        let sampler = with_edge_features(sampler, edge_features.as_ref());
        let mut order = sampling.loader(config.seed);
        order.shuffle = of == EdgeUse::Train;
        let negatives = Some(NegativeSampler::PerSourceUniform(link.negatives));
        let ranks = setup.ranks();
        DistEdgeDataLoader::new(graph.clone(), edges, sampler, exclude, negatives, order, ranks)
    };
    Ok(LinkLoaders {
        train: loader(EdgeUse::Train, Exclude::BetweenEnds)?,
        val: loader(EdgeUse::Val, Exclude::Nothing)?,
        test: loader(EdgeUse::Test, Exclude::Nothing)?,
    })
}
