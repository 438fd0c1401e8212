//! Guards against: gradients on blocks that differ from those of the full graph, and ranks whose parameters drift apart.

use std::rc::Rc;
use std::sync::Arc;

use sar::Result;
use sar::engine::comm::{NoHooks, Ranks, gather_grads};
use sar::engine::spill::Masks;
use sar::engine::tape::{Constants, Graph, GraphShardManager, ParameterBuilder, Policy, Tape};
use sar::formats::dgl::Partition;
use sar::io::IoCounters;
use sar::load::{
    EdgeData, EdgeFeatures, NodeColumn, NodeFeatures, Normalize, Shards, load_labels, load_mask,
};
use sar::nn::{Loss, ModelConfig, Optimizer, OptimizerConfig, Sizes, Task};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig};
use sar::testing::{RankContext, on_ranks};
use sar::train::{
    EDGE_FEATURES, FEATURES, GradientReduce, GraphBatches, GraphModel, LABELS, SampledTrainer,
    Totals, Trainer,
};
use tch::{Kind, Tensor};

use crate::common;
use crate::logits::{edge_feats, edge_source, kinds};
use crate::support::open;

const LR: f64 = 0.5;

/// How batches are drawn, and how gradients are combined.
#[derive(Clone, Copy)]
struct How {
    fanout: i64,
    batch_size: usize,
    reduce: GradientReduce,
    epochs: u32,
}

/// Trains on one rank; returns the flat parameters, in double precision.
fn train(
    context: &RankContext,
    graph: &Arc<DistGraph>,
    model: &ModelConfig,
    how: How,
) -> Result<Vec<f64>> {
    let (manager, group) = (&context.manager, &*context.group);
    let counters = IoCounters::default();
    let features = NodeColumn::features(graph.config(), None, Normalize::None, counters.clone())?;
    let labels = NodeColumn::labels(graph.config(), None, counters.clone())?;
    let edges = EdgeFeatures::find(graph.config(), "weight", counters)?;
    let (in_feats, edge_feats) = (features.width() as i64, edge_feats(model.kind));
    let sizes = Sizes { in_feats, out_feats: 4, num_rels: 1, edge_feats };
    let sampler = DistNeighborSampler::new(vec![Fanout::Total(how.fanout); model.num_graphs()])?;
    let sampler = sampler.in_degrees(model.kind.facts().in_degrees);
    let sampler = sampler.input_node_feature(FEATURES, features);
    let sampler = sampler.output_node_feature(LABELS, labels);
    let sampler = sampler.edge_feature(EDGE_FEATURES, edges);
    let config = DataLoaderConfig { batch_size: how.batch_size, ..DataLoaderConfig::default() };
    let seeds = seeds(graph, context.rank)?;
    let loader =
        DataLoader::new(graph.clone(), seeds, sampler, config, Ranks { group, hooks: &NoHooks })?;
    let mut builder = ParameterBuilder::new(3);
    let stack = model.build(&mut builder, sizes)?;
    let parameters = Rc::new(builder.finish(manager, Kind::Double)?);
    let nothing = Tensor::zeros([0, 0], (Kind::Double, tch::Device::Cpu));
    let nothing = manager.track("nothing", nothing);
    // The full graph is not used.
    let forward = GraphModel { model: &*stack, graphs: Vec::new(), features: nothing.clone() };
    let full = Trainer {
        manager,
        group,
        forward: &forward,
        labels: nothing.clone(),
        masks: Masks { train: nothing.clone(), val: nothing.clone(), test: nothing },
        parameters: &parameters,
        loss: Loss::new(Task::Classification),
        divisor: 1.0,
        outputs: 4,
        totals: Totals { train: 0, val: 0, test: 0 },
        roc_auc: false,
        seed: 1,
        policy: Policy::Rematerialise,
        constants: Constants::default(),
    };
    let batches = GraphBatches { model: &*stack, edge_types: true };
    let trainer = SampledTrainer {
        full: &full,
        model: &batches,
        loader: &loader,
        reduce: how.reduce,
        evaluation: None,
        log: None,
    };
    let sgd = OptimizerConfig::Sgd { lr: LR, momentum: 0.0, weight_decay: 0.0 };
    let mut optimizer = Optimizer::new(sgd, manager)?;
    for epoch in 1..=how.epochs {
        let report = trainer.pass(epoch, &mut optimizer, None, 0)?;
        assert!(report.loss.unwrap() > 0.0 && report.score.unwrap() <= 1.0);
    }
    let flat = Vec::try_from(&*parameters.flat().pin()?)?;
    Ok(flat)
}

fn seeds(graph: &Arc<DistGraph>, rank: usize) -> Result<Vec<u64>> {
    let partition = Partition::open(graph.config(), rank)?;
    let mask = Vec::<bool>::try_from(load_mask(&partition, None, "train_mask")?.unwrap())?;
    let first = graph.book().node_range(rank).start;
    Ok((first..).zip(mask).filter(|(_, train)| *train).map(|(node, _)| node).collect())
}

/// The parameters after one step on the full graph, whose loss is the sum of the ranks' means, or the sum over all training
/// nodes divided by `divisor`.
fn full_step(
    context: &RankContext,
    graph: &Arc<DistGraph>,
    config: &ModelConfig,
    divisor: Option<f64>,
) -> Result<Vec<f64>> {
    let (manager, group) = (&context.manager, &context.group);
    let partition = Partition::open(graph.config(), context.rank)?;
    let columns = EdgeData { weight: Some("weight"), types: true, ids: true, within: None };
    let Shards { shards, sources } = Shards::load(&partition, columns)?;
    let shards = shards.into_iter().map(|shard| manager.track_shard("shard", shard)).collect();
    let first = graph.book().node_range(context.rank).start;
    let mut full = GraphShardManager::new(manager, group, shards, first, sources)?;
    full.set_edge_source(edge_source(&partition, "weight", Kind::Double)?);
    let features = NodeFeatures::find(&partition, None, Normalize::None)?;
    let features = manager.track("x", features.read(Kind::Double, &IoCounters::default())?);
    let (in_feats, edge_feats) = (features.size()[1], edge_feats(config.kind));
    let sizes = Sizes { in_feats, out_feats: 4, num_rels: 1, edge_feats };
    let mut builder = ParameterBuilder::new(3);
    let stack = config.build(&mut builder, sizes)?;
    let parameters = Rc::new(builder.finish(manager, Kind::Double)?);
    let gradient = {
        let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, 1, 1);
        let x = tape.input(&features);
        let logits =
            stack.forward(&mut tape, &vec![&full as &dyn Graph; config.num_graphs()], x)?;
        let gradient = {
            let mask = load_mask(&partition, None, "train_mask")?.unwrap();
            let labels = load_labels(&partition, None)?;
            let loss = Loss::new(Task::Classification);
            let seeds = divisor.map_or_else(|| loss.divisor(&labels, &mask), Ok)?;
            loss.forward(&*logits.pin()?, &labels, &mask, seeds)?.1
        };
        let gradients = tape.backward(logits, gradient)?;
        parameters.flat_gradients(&gradients)?
    };
    let gradient = gather_grads(&**group, vec![gradient], &**manager)?.remove(0);
    let flat: Tensor = &*parameters.flat().pin()? - LR * gradient;
    Ok(Vec::try_from(flat)?)
}

fn model(kind: sar::nn::ModelKind) -> ModelConfig {
    ModelConfig { kind, layers: 2, hidden: 6, dropout: 0.0, ..ModelConfig::default() }
}

#[test]
fn a_step_on_all_neighbours_of_all_seeds_is_the_step_on_the_full_graph() {
    let keys = IndexConfig {
        weight: Some("weight".to_owned()),
        probability: None,
        ends: false,
        drawn: false,
    };
    let opened = open(&common::repository("data/karate/karate.json"), &keys);
    let graph = &opened.graph;
    let all: usize = (0..2).map(|rank| seeds(graph, rank).unwrap().len()).sum();
    let ways = [(GradientReduce::Sum, None), (GradientReduce::Weighted, Some(all as f64))];
    for (kind, (reduce, divisor)) in
        kinds().into_iter().flat_map(|kind| ways.map(|way| (kind, way)))
    {
        let how = How { fanout: -1, batch_size: 100, reduce, epochs: 1 };
        let model = model(kind);
        let ours = on_ranks(2, 2, |context| train(&context, graph, &model, how)).unwrap();
        let expected =
            on_ranks(2, 1, |context| full_step(&context, graph, &model, divisor)).unwrap();
        let scale = expected[0].iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        for (a, b) in ours[0].iter().zip(&expected[0]) {
            assert!((a - b).abs() < 1e-9 * scale, "{kind:?} {reduce:?}: {a} instead of {b}");
        }
    }
}

#[test]
fn parameters_stay_the_same_on_all_ranks() {
    let opened = open(&common::repository("data/karate/karate.json"), &IndexConfig::default());
    for reduce in [GradientReduce::Mean, GradientReduce::Sum, GradientReduce::Weighted] {
        // The ranks have different numbers of training nodes, so one of them repeats batches, or has smaller ones.
        let how = How { fanout: 2, batch_size: 2, reduce, epochs: 3 };
        let model = ModelConfig { dropout: 0.3, ..model(kinds()[1]) };
        let work = |context| train(&context, &opened.graph, &model, how);
        let ranks = on_ranks(2, 2, work).unwrap();
        assert_eq!(ranks[0], ranks[1]);
        // A second run gives the same bits.
        assert_eq!(ranks, on_ranks(2, 2, work).unwrap());
    }
}

#[test]
fn the_mean_over_ranks_is_the_sum_divided_by_their_number() {
    let opened = open(&common::repository("data/karate/karate.json"), &IndexConfig::default());
    let model = model(kinds()[1]);
    let run = |reduce, epochs| {
        let how = How { fanout: -1, batch_size: 100, reduce, epochs };
        on_ranks(2, 2, |context| train(&context, &opened.graph, &model, how)).unwrap().remove(0)
    };
    let start = run(GradientReduce::Sum, 0);
    for ((start, sum), mean) in
        start.iter().zip(run(GradientReduce::Sum, 1)).zip(run(GradientReduce::Mean, 1))
    {
        assert!(((sum - start) / 2.0 - (mean - start)).abs() < 1e-12);
    }
}
