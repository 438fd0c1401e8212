//! Training for link prediction: epochs and results.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::assignment::Assignment;
use super::batch_inputs::BatchInputs;
use super::epochs::run_epochs;
use super::files::pending_weights;
use super::setup::RankSetup;
use crate::engine::tape::ParameterSet;
use crate::error::Result;
use crate::event::Event;
use crate::load::EdgeUse;
use crate::nn::{LinkScore, save_state_dict};
use crate::run::config::LinkConfig;
use crate::sampling::loaders::{DistEdgeDataLoader, Exclude, NegativeSampler, SampledGraph};
use crate::sampling::stores::IndexConfig;
use crate::train::{BatchModel, LinkLoaders, LinkTrainer, SamplingConfig, Training};

/// Training of a model whose rows are compared in pairs, on one rank.
#[derive(Clone, Copy)]
pub(super) struct LinkTraining<'a> {
    pub(super) setup: &'a RankSetup,
    pub(super) assignment: Assignment<'a>,
    pub(super) link: &'a LinkConfig,
    pub(super) sampling: &'a SamplingConfig,
}

/// The model of a training for link prediction.
pub(super) struct LinkModel<'a> {
    pub(super) model: &'a dyn BatchModel,
    /// The score of two rows.
    pub(super) score: &'a LinkScore,
    /// Parameters of model and score.
    pub(super) parameters: &'a Rc<ParameterSet>,
    /// Texts that are stored with the weights.
    pub(super) texts: BTreeMap<String, String>,
}

impl LinkTraining<'_> {
    /// Runs all epochs and writes the weights. The rank has the turn before and after this call.
    pub(super) fn run(self, of: LinkModel<'_>, loaders: &LinkLoaders) -> Result<()> {
        let LinkTraining { setup, assignment, sampling, .. } = self;
        let Assignment { here, config, .. } = assignment;
        let LinkModel { model, score, parameters, mut texts } = of;
        // From here, ranks take a turn per batch, or none.
        setup.manager.precall_func()?;
        let report = |report| here.events.send(Event::Batch(report));
        let trainer = LinkTrainer {
            manager: &setup.manager,
            group: &*setup.group,
            model,
            score,
            parameters,
            seed: config.seed,
            policy: config.policy,
            reduce: sampling.reduce,
            log: assignment.step_log(&report),
        };
        let training = Training::of_links(&trainer, loaders, config.regime())?;
        let finite = run_epochs(training, assignment, &setup.manager)?;
        setup.manager.callback_func()?;
        if finite {
            texts.extend([config.text_of_weights()?]);
            let (path, learned) = (pending_weights(&config.out), model.learned_rows());
            save_state_dict(&path, parameters, &learned, &texts, setup.ranks())?;
        }
        Ok(())
    }

    /// Loaders of the rank's edges, by use. Messages follow training edges and edges that are not predicted; during
    /// training, not those between the ends of the batch's edges (or only those of their edge types). `open` opens the
    /// graph whose index omits edges with value 0; batches have these `inputs`. One collective per loader, and those of
    /// `open`.
    pub(super) fn loaders(
        self,
        open: &dyn Fn(&IndexConfig, &[f32]) -> Result<SampledGraph>,
        inputs: &BatchInputs,
    ) -> Result<LinkLoaders> {
        let LinkTraining { setup, assignment, link, sampling } = self;
        let Assignment { here, config, .. } = assignment;
        let partition = &setup.partition;
        let target = link.target(partition.book())?;
        let uses = link.split.uses(partition, target, config.seed)?;
        let drawn = uses.iter().map(|edge| f32::from(u8::from(edge.carries_messages())));
        let drawn: Vec<f32> = drawn.collect();
        let weight = config.keys.edge_weight.clone();
        let keys = IndexConfig { weight, drawn: true, ends: true, probability: None };
        let graph = open(&keys, &drawn)?;
        let first = partition.book().edge_range(here.rank).start;
        let between = match target {
            Some(target) => Exclude::BetweenEndsOf(target.etypes().collect()),
            None => Exclude::BetweenEnds,
        };
        let loader = |of: EdgeUse, exclude: Exclude| {
            let edges = uses.iter().zip(first..).filter(|(edge, _)| **edge == of);
            let edges: Vec<u64> = edges.map(|(_, id)| id).collect();
            let sampler = inputs.sampler(setup, config, sampling)?.weighted(true);
            let mut order = sampling.loader(config.seed);
            order.shuffle = of == EdgeUse::Train;
            let negatives = Some(NegativeSampler::PerSourceUniform(link.negatives));
            let ranks = setup.ranks();
            DistEdgeDataLoader::new(graph.clone(), edges, sampler, exclude, negatives, order, ranks)
        };
        Ok(LinkLoaders {
            train: loader(EdgeUse::Train, between)?,
            val: loader(EdgeUse::Val, Exclude::Nothing)?,
            test: loader(EdgeUse::Test, Exclude::Nothing)?,
        })
    }
}
