//! Training for link prediction: epochs and results.

use super::assignment::Assignment;
use super::batches::open_graph;
use super::epochs::run_epochs;
use super::files::pending_weights;
use super::hetero_graph::RankHeteroGraph;
use super::rank_graph::{BuiltModel, RankGraph};
use super::setup::RankSetup;
use super::whole_graph::WholeGraph;
use crate::event::Event;
use crate::load::EdgeUse;
use crate::nn::save_state_dict;
use crate::run::config::{Layers, LinkConfig};
use crate::sampling::loaders::{DistEdgeDataLoader, Exclude, NegativeSampler};
use crate::sampling::stores::IndexConfig;
use crate::train::{
    BatchModel, GraphBatches, HeteroBatches, LinkLoaders, LinkTrainer, SamplingConfig, Training,
};
use crate::words::error::{Error, Result};

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
        let within = self.uses()?.into_iter().map(EdgeUse::carries_messages);
        let within = Some(within.collect());
        match layers {
            Layers::Shared(_) => {
                let whole = WholeGraph::new(setup, config, within)?;
                let built = BuiltModel::new(setup, config, &whole, &[width])?;
                assignment.load_initial(&built.parameters)?;
                let edge_types = config.model.kind.spec().edge_types;
                self.run(&whole, &built, &GraphBatches { model: &*built.model, edge_types })
            }
            Layers::PerRelation(relations, _) => {
                let hetero = RankHeteroGraph::new(setup, config, relations, within)?;
                let widths = vec![width; hetero.targets.len()];
                let built = BuiltModel::new(setup, config, &hetero, &widths)?;
                let (inputs, optimizer) = hetero.stored_inputs(setup, here.folder, config.seed)?;
                let degrees = hetero.relation_degrees(setup, here.folder)?;
                let batches = HeteroBatches::new(&built.model, &inputs, optimizer, degrees);
                let learned = batches.learned_rows();
                hetero.load_initial(assignment, &built.parameters, &learned)?;
                self.run(&hetero, &built, &batches)
            }
        }
    }

    /// The use of each edge of the partition. The list is computed again after a pause, so that it does not stay in memory through it.
    fn uses(self) -> Result<Vec<EdgeUse>> {
        self.link.uses(&self.setup.partition, self.assignment.config.seed)
    }

    /// Runs all epochs and writes the weights. The rank has the turn before this call, and not afterwards.
    fn run<G: RankGraph>(
        self,
        graph: &G,
        BuiltModel { score, parameters, .. }: &BuiltModel<G::Model>,
        model: &dyn BatchModel,
    ) -> Result<()> {
        let LinkTraining { setup, assignment, sampling, .. } = self;
        let Assignment { here, config, .. } = assignment;
        let loaders = self.loaders(graph)?;
        setup.sync(parameters)?;
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
        let of_graph = graph.texts(setup)?;
        run_epochs(training, assignment, setup, |texts| {
            let Some(mut texts) = texts else { return Ok(()) };
            texts.extend(of_graph);
            let (path, learned) = (pending_weights(&config.out), model.learned_rows());
            save_state_dict(&path, parameters, &learned, &texts, setup.ranks())
        })
    }

    /// Loaders of the rank's edges, by use. Messages follow training edges and edges that are not predicted; during
    /// training, not those between the ends of the batch's edges (or only those of their edge types). One collective per
    /// loader, and those of the graph.
    fn loaders(self, graph: &impl RankGraph) -> Result<LinkLoaders> {
        let LinkTraining { setup, assignment, link, sampling } = self;
        let Assignment { here, config, .. } = assignment;
        let partition = &setup.partition;
        let target = link.target(partition.book())?;
        let weight = config.keys.edge_weight.clone();
        let keys = IndexConfig { weight, drawn: true, ends: true, probability: None };
        let inputs = graph.batch_inputs(setup, assignment)?;
        let drawn = self.uses()?.into_iter();
        let drawn = drawn.map(|edge| f32::from(u8::from(edge.carries_messages()))).collect();
        let graph = open_graph(setup, graph.out_degrees(setup)?, here, &keys, Some(drawn))?;
        let first = partition.book().edge_range(here.rank).start;
        let uses = self.uses()?;
        let [train, val, test] = [EdgeUse::Train, EdgeUse::Val, EdgeUse::Test].map(|of| {
            let edges = uses.iter().zip(first..).filter(|(edge, _)| **edge == of);
            edges.map(|(_, id)| id).collect::<Vec<u64>>()
        });
        drop(uses);
        let between = match target {
            Some(target) => Exclude::BetweenEndsOf(target.etypes().collect()),
            None => Exclude::BetweenEnds,
        };
        let loader = |edges: Vec<u64>, exclude: Exclude, shuffle: bool| {
            let sampler = inputs.sampler(setup, config, sampling)?.weighted(true);
            let mut order = sampling.loader(config.seed);
            order.shuffle = shuffle;
            let negatives = Some(NegativeSampler::PerSourceUniform(link.negatives));
            let ranks = setup.ranks();
            DistEdgeDataLoader::new(graph.clone(), edges, sampler, exclude, negatives, order, ranks)
        };
        Ok(LinkLoaders {
            train: loader(train, between, true)?,
            val: loader(val, Exclude::Nothing, false)?,
            test: loader(test, Exclude::Nothing, false)?,
        })
    }
}
