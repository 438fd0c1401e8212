//! Training for link prediction: epochs and results.

use super::assignment::Assignment;
use super::batches::open_graph;
use super::epochs::run_epochs;
use super::files::pending_weights;
use super::hetero_graph::RankHeteroGraph;
use super::rank_graph::{BuiltModel, RankGraph};
use super::setup::RankSetup;
use super::whole_graph::WholeGraph;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::load::EdgeUse;
use crate::nn::save_state_dict;
use crate::run::config::{Layers, LinkConfig};
use crate::sampling::loaders::{DistEdgeDataLoader, Exclude, NegativeSampler};
use crate::sampling::stores::IndexConfig;
use crate::train::{
    BatchModel, GraphBatches, HeteroBatches, LinkLoaders, LinkTrainer, SamplingConfig, Training,
};

/// Training of a model whose rows are compared in pairs, on one rank.
#[derive(Clone, Copy)]
pub(super) struct LinkTraining<'a> {
    pub(super) setup: &'a RankSetup,
    pub(super) assignment: Assignment<'a>,
    pub(super) link: &'a LinkConfig,
    pub(super) sampling: &'a SamplingConfig,
}

impl LinkTraining<'_> {
    /// Trains a model whose output rows, as wide as its hidden layers, are compared in pairs. Learned rows stay on disk.
    pub(super) fn train(self, layers: Layers<'_>) -> Result<()> {
        let LinkTraining { setup, assignment, .. } = self;
        let Assignment { here, config, .. } = assignment;
        let width = config.model.hidden;
        // Degrees are those of the graph without the edges that are kept back.
        let uses = self.link.uses(&setup.partition, config.seed)?;
        let within: Vec<bool> = uses.iter().map(|of| of.carries_messages()).collect();
        match layers {
            Layers::Shared(_) => {
                let whole = WholeGraph::new(setup, config, Some(&within))?;
                drop(within);
                let built = BuiltModel::new(setup, config, &whole, &[width])?;
                assignment.load_initial(&built.parameters)?;
                let edge_types = config.model.kind.uses_edge_types();
                self.run(&whole, uses, &built, &GraphBatches { model: &*built.model, edge_types })
            }
            Layers::PerRelation(relations, _) => {
                let hetero = RankHeteroGraph::new(setup, config, relations, Some(&within))?;
                drop(within);
                let widths = vec![width; hetero.targets.len()];
                let built = BuiltModel::new(setup, config, &hetero, &widths)?;
                let (inputs, optimizer) = hetero.stored_inputs(setup, here.folder, config.seed)?;
                let degrees = hetero.relation_degrees(setup, here.folder)?;
                let batches = HeteroBatches::new(&built.model, &inputs, optimizer, degrees);
                let learned = batches.learned_rows();
                hetero.load_initial(setup, assignment, &built.parameters, &learned)?;
                self.run(&hetero, uses, &built, &batches)
            }
        }
    }

    /// Runs all epochs and writes the weights. The rank has the turn before this call, and not afterwards.
    fn run<G: RankGraph>(
        self,
        graph: &G,
        uses: Vec<EdgeUse>,
        BuiltModel { score, parameters, .. }: &BuiltModel<G::Model>,
        model: &dyn BatchModel,
    ) -> Result<()> {
        let LinkTraining { setup, assignment, sampling, .. } = self;
        let Assignment { here, config, .. } = assignment;
        let loaders = self.loaders(graph, &uses)?;
        drop(uses);
        setup.sync(parameters)?;
        // From here, ranks take a turn per batch, or none.
        setup.manager.precall_func()?;
        let report = |report| here.events.send(Event::Batch(report));
        let missing = || Error::internal("a run without a score");
        let trainer = LinkTrainer {
            manager: &setup.manager,
            group: &*setup.group,
            model,
            score: score.as_ref().ok_or_else(missing)?,
            parameters,
            seed: config.seed,
            policy: config.policy,
            reduce: sampling.reduce,
            log: assignment.step_log(&report),
        };
        let training = Training::of_links(&trainer, &loaders, config.regime())?;
        run_epochs(training, assignment, setup, |epoch| {
            setup.manager.callback_func()?;
            let Some(epoch) = epoch else { return Ok(()) };
            let mut texts = graph.texts(setup);
            texts.extend(config.texts_of_weights(epoch)?);
            let (path, learned) = (pending_weights(&config.out), model.learned_rows());
            save_state_dict(&path, parameters, &learned, &texts, setup.ranks())
        })
    }

    /// Loaders of the rank's edges, by use. Messages follow training edges and edges that are not predicted; during
    /// training, not those between the ends of the batch's edges (or only those of their edge types). One collective per
    /// loader, and those of the graph.
    fn loaders(self, graph: &impl RankGraph, uses: &[EdgeUse]) -> Result<LinkLoaders> {
        let LinkTraining { setup, assignment, link, sampling } = self;
        let Assignment { here, config, .. } = assignment;
        let partition = &setup.partition;
        let target = link.target(partition.book())?;
        let drawn = uses.iter().map(|edge| f32::from(u8::from(edge.carries_messages())));
        let drawn: Vec<f32> = drawn.collect();
        let weight = config.keys.edge_weight.clone();
        let keys = IndexConfig { weight, drawn: true, ends: true, probability: None };
        let inputs = graph.batch_inputs(setup, assignment)?;
        let graph = open_graph(setup, &graph.out_degrees(setup)?, here, &keys, Some(&drawn))?;
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
