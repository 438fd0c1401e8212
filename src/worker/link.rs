//! A rank's part of a training that predicts edges.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::RunConfig;
use super::rank::{KIND, RankSetup, Surroundings};
use super::sampled::open_graph;
use super::train::{pending_weights, run_epochs};
use super::whole_graph::WholeGraph;
use crate::data::{EdgeSplit, EdgeUse, NodeColumn};
use crate::dist::IndexConfig;
use crate::error::{Error, Result};
use crate::loader::{DistEdgeDataLoader, Exclude, NegativeSampler};
use crate::nn::{LinkScore, load_state_dict, save_state_dict};
use crate::tape::{Graph, ParameterBuilder};
use crate::train::{FEATURES, LinkLoaders, LinkTrainer, SamplingConfig, Training};

/// How two nodes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PairScore {
    /// <h_u, h_v>
    #[default]
    Dot,
    /// <h_u W, h_v>, with a learned matrix
    Bilinear,
}

/// A training that predicts edges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkConfig {
    /// How two nodes are compared.
    pub score: PairScore,
    /// Pairs that are drawn for each edge: its source with any nodes of the destination's type.
    pub negatives: usize,
    /// Which edges are trained on.
    pub split: EdgeSplit,
}

/// Trains a model whose rows, as wide as its hidden layers, are compared in pairs.
pub(super) fn train_link(
    here: Surroundings<'_>,
    (config, resumed): (&RunConfig, Option<&Path>),
    (link, sampling): (&LinkConfig, &SamplingConfig),
) -> Result<()> {
    let setup = RankSetup::new(here, config)?;
    let whole = WholeGraph::new(&setup, config)?;
    let mut builder = ParameterBuilder::new(config.seed);
    let width = config.model.hidden;
    let model = config.model.build(&mut builder, whole.sizes(width))?;
    let score = link.score(&mut builder, width);
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    if let (Some(path), 0) = (&config.init_params, here.rank) {
        load_state_dict(path, &parameters, &[])?;
    }
    let loaders = loaders((&setup, &whole.graph), here, config, (link, sampling))?;
    setup.sync(&parameters)?;
    // From here on ranks take turns for their batches, or none at all.
    setup.manager.precall_func()?;
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
    };
    let training = Training::of_links(&trainer, &loaders, config.regime())?;
    let finite = run_epochs(training, here, (config, resumed), &setup.manager)?;
    setup.manager.callback_func()?;
    if finite {
        let ranks = (&*setup.group, &*setup.manager);
        let texts = BTreeMap::from([config.text_of_weights()?]);
        save_state_dict(&pending_weights(&config.out), &parameters, &[], &texts, ranks)?;
    }
    drop((loaders, parameters, whole));
    setup.end()
}

/// The loaders of the rank's edges, by their use. Messages go along training edges only, and in training not between the ends
/// of the batch's edges.
fn loaders(
    (setup, graph): (&RankSetup, &dyn Graph),
    here: Surroundings<'_>,
    config: &RunConfig,
    (link, sampling): (&LinkConfig, &SamplingConfig),
) -> Result<LinkLoaders> {
    let RankSetup { manager, partition, group } = setup;
    let uses = link.split.uses(partition, config.seed)?;
    let drawn: Vec<f32> =
        uses.iter().map(|edge| f32::from(u8::from(*edge == EdgeUse::Train))).collect();
    let weight = config.keys.edge_weight.clone();
    let keys = IndexConfig { weight, drawn: true, ends: true, probability: None };
    let graph = Arc::new(open_graph((setup, graph), here, &keys, Some(&drawn))?);
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
        let sampler = sampler.out_degrees(config.model.kind.uses_out_degrees());
        let sampler = sampler.input_node_feature(FEATURES, features.clone());
        let mut order = sampling.loader(config.seed);
        order.shuffle = of == EdgeUse::Train;
        let negatives = NegativeSampler::PerSourceUniform(link.negatives);
        let hidden = (exclude, Some(negatives));
        let ranks = (&**group, &**manager as _);
        DistEdgeDataLoader::new(graph.clone(), edges, sampler, hidden, order, ranks)
    };
    Ok(LinkLoaders {
        train: loader(EdgeUse::Train, Exclude::BetweenEnds)?,
        val: loader(EdgeUse::Val, Exclude::Nothing)?,
        test: loader(EdgeUse::Test, Exclude::Nothing)?,
    })
}

impl LinkConfig {
    /// The score of rows of width `width`, behind the model's parameters.
    pub(super) fn score(&self, builder: &mut ParameterBuilder, width: i64) -> LinkScore {
        match self.score {
            PairScore::Dot => LinkScore::Dot,
            PairScore::Bilinear => {
                builder.scope("score", |builder| LinkScore::bilinear(builder, width))
            }
        }
    }

    /// Whether a run can be one that predicts edges.
    ///
    /// # Errors
    /// If what it needs is missing, or it is given what it cannot do.
    pub fn check(&self, config: &RunConfig) -> Result<()> {
        self.split.check()?;
        let given = [
            ("--class-weights", config.class_weights.is_some(), "edges have no classes"),
            ("--label-key", config.keys.labels.is_some(), "edges have no labels"),
            ("--hetero", config.relations.is_some(), "is for what is learned of nodes"),
            ("--mfg", config.mfg, "is for training on the full graph"),
            ("--one-shot", config.one_shot, "is for training on the full graph"),
            ("--dump-step", config.dump_step.is_some(), "is for what is learned of nodes"),
            (
                "--edge-prob",
                config.sampling.as_ref().is_some_and(|s| s.edge_probability.is_some()),
                "edges that are kept back have probability 0, the others are drawn uniformly",
            ),
        ];
        for (flag, given, problem) in given {
            if given {
                return Err(Error::config(flag, problem).with_hint("leave it out with --task link"));
            }
        }
        if config.sampling.is_none() {
            return Err(Error::config("--task link", "is trained on sampled neighbourhoods")
                .with_hint("add --mode sample"));
        }
        if self.negatives == 0 {
            return Err(Error::config("--negatives", "must be 1 or more"));
        }
        Ok(())
    }
}
