//! DGL's numbers on DGL's own partition: logits, loss, every gradient and optimizer curves of the built binary compared with
//! what DGL computes in double precision on the whole graph (tests/fixtures/karate_steps.py); and the same for the prediction
//! of edges (tests/fixtures/karate_links.py).
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/karate.rs"]
mod karate;
#[path = "common/program.rs"]
mod program;

use std::rc::Rc;
use std::sync::Arc;

use sar::Result;
use sar::engine::comm::{NoHooks, Ranks};
use sar::engine::tape::{Graph, ParameterBuilder, ParameterSet, Policy, Tape};
use sar::formats::dgl::config::PartitionConfig;
use sar::io::IoCounters;
use sar::load::{NodeColumn, Normalize};
use sar::nn::{
    LinkScore, Model, ModelConfig, Optimizer, OptimizerConfig, Sizes, auc, link_loss,
    load_state_dict, mean_reciprocal_rank,
};
use sar::sampling::loaders::{
    DataLoaderConfig, DistEdgeDataLoader, DistNeighborSampler, EdgeMiniBatch, Exclude,
    NegativeSampler, Pairs,
};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig};
use sar::testing::{RankContext, on_ranks};
use sar::train::{FEATURES, GradientReduce, GraphBatches, LinkTrainer, block_graphs};
use tch::{Kind, Tensor};

use karate::{assert_close, case, check_curve, check_step};

/// The folder in tests/fixtures.
const STEPS: &str = "karate_steps";

#[test]
fn graph_sage_gives_dgls_logits_loss_and_gradients() {
    for name in ["sage_mean", "sage_gcn", "sage_pool", "sage_mean_weighted", "sage_gcn_weighted"] {
        check_step(STEPS, name);
    }
}

#[test]
fn graph_convolution_gives_dgls_logits_loss_and_gradients() {
    for norm in ["both", "left", "right", "none"] {
        check_step(STEPS, &format!("gcn_{norm}"));
        check_step(STEPS, &format!("gcn_{norm}_weighted"));
    }
}

#[test]
fn optimizers_follow_pytorchs_update_rules() {
    for name in ["sgd", "adam", "adamw"] {
        check_curve(STEPS, name);
    }
}

/// A model whose rows are compared, with double-precision parameters.
struct Linked {
    model: Box<dyn Model>,
    score: LinkScore,
    parameters: Rc<ParameterSet>,
}

/// The loss of a batch's pairs, its flat gradient, and the scores, with those of edges first.
fn step(
    context: &RankContext,
    linked: &Linked,
    graph: &DistGraph,
    batch: &EdgeMiniBatch,
) -> Result<(f64, Tensor, Vec<f32>)> {
    let Linked { model, score, parameters } = linked;
    let graphs = block_graphs(&context.manager, graph, &batch.neighbourhood, false)?;
    let graphs: Vec<&dyn Graph> = graphs.iter().map(|graph| graph as &dyn Graph).collect();
    let mut tape = Tape::training(&context.manager, parameters, Policy::default(), 0, 1);
    let x = batch.neighbourhood.input(FEATURES)?.to_kind(Kind::Double);
    let x = tape.input(&context.manager.track("features", x));
    let rows = model.forward(&mut tape, &graphs, x)?;
    let [positive, negative] = [batch.positive.tensors()?, batch.negative.tensors()?];
    let both = |end: usize| Tensor::cat(&[&positive[end], &negative[end]], 0);
    let scores = score.forward(&mut tape, &rows, [&both(0), &both(1)], None)?;
    let values = Vec::<f32>::try_from(scores.pin()?.to_kind(Kind::Float).flatten(0, -1))?;
    let (loss, gradient) = link_loss(&*scores.pin()?, batch.edges.len() as i64)?;
    let gradients = tape.backward(scores, gradient)?;
    Ok((loss, parameters.flat_gradients(&gradients)?, values))
}

/// Compares the metrics of scores.
fn measures(batch: &EdgeMiniBatch, scores: &[f32]) -> [f64; 2] {
    let (edges, others) = scores.split_at(batch.edges.len());
    [auc(edges, others).unwrap(), mean_reciprocal_rank(edges, others).unwrap()]
}

#[test]
fn predicted_edges_have_dgls_scores_loss_gradients_and_metrics() {
    let partitions = PartitionConfig::open(&common::repository("data/karate/karate.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let index = IndexConfig { ends: true, ..IndexConfig::default() };
    let graph = Arc::new(DistGraph::create(&partitions, &index, folder.path()).unwrap());
    for name in ["dot", "bilinear"] {
        let case = case("karate_links", name);
        let start = folder.path().join(format!("{name}.safetensors"));
        std::fs::write(&start, &case.start).unwrap();
        on_ranks(1, 1, |context| check_links(&context, &graph, &case, &start)).unwrap();
    }
}

#[allow(clippy::too_many_lines)] // One batch after the other.
fn check_links(
    context: &RankContext,
    graph: &Arc<DistGraph>,
    case: &karate::Case,
    start: &std::path::Path,
) -> Result<()> {
    let mut builder = ParameterBuilder::new(0);
    let config = ModelConfig { layers: 2, hidden: 8, dropout: 0.0, ..ModelConfig::default() };
    let sizes = Sizes { in_feats: 34, out_feats: 8, num_rels: 1, edge_feats: 0 };
    let model = config.build(&mut builder, sizes)?;
    let score = if case.tensors.contains_key("param.score.weight") {
        builder.scope("score", |builder| LinkScore::bilinear(builder, 8))
    } else {
        LinkScore::Dot
    };
    let parameters = Rc::new(builder.finish(&context.manager, Kind::Double)?);
    load_state_dict(start, &parameters, &[])?;
    let linked = Linked { model, score, parameters: parameters.clone() };
    let sampler = || -> Result<DistNeighborSampler> {
        let counters = IoCounters::default();
        let x = NodeColumn::features(graph.config(), None, Normalize::None, counters)?;
        Ok(DistNeighborSampler::new(vec![Fanout::ALL; 2])?.input_node_feature(FEATURES, x))
    };

    // The seeds are all nodes in their order, so that rows are ids.
    let key = sar::sampling::stores::SampleKey { seed: 0, epoch: 1, batch: 0, layer: 0 };
    let nodes: Vec<u64> = (0..34).collect();
    let pairs = |key: &str| {
        let ids: Vec<i64> = case.tensors[key].1.iter().map(|id| *id as i64).collect();
        let (sources, destinations) = ids.split_at(ids.len() / 2);
        Pairs { sources: sources.to_vec(), destinations: destinations.to_vec() }
    };
    let edges: Vec<u64> = (0..190).step_by(3).collect();
    let batch = EdgeMiniBatch {
        edges: edges.clone(),
        positive: pairs("positive"),
        negative: pairs("negative"),
        neighbourhood: sampler()?.sample(&**graph, &nodes, key)?,
    };
    let (loss, gradient, scores) = step(context, &linked, graph, &batch)?;
    let expected = |key: &str| &case.tensors[key].1[..];
    let wide: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();
    assert_close("scores", &wide, expected("scores"));
    assert!((loss - expected("loss")[0]).abs() < 1e-9, "{loss}");
    let [auc, mrr] = measures(&batch, &scores);
    assert!((auc - expected("auc")[0]).abs() < 1e-9 && (mrr - expected("mrr")[0]).abs() < 1e-6);
    for parameter in parameters.iter() {
        let name = format!("grad.{}", parameters.name(parameter));
        let ours = Vec::<f64>::try_from(parameters.view(&gradient, parameter)?.flatten(0, -1))?;
        for (a, b) in ours.iter().zip(expected(&name)) {
            assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{name}: {a} instead of {b}");
        }
    }

    // A trainer's step and evaluation are the same functions, on the pairs that its loader draws.
    let config = DataLoaderConfig { batch_size: 1000, ..DataLoaderConfig::default() };
    let negatives = Some(NegativeSampler::PerSourceUniform(3));
    let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
    let sampler = sampler()?;
    let loader = DistEdgeDataLoader::new(
        graph.clone(),
        edges,
        sampler,
        Exclude::Nothing,
        negatives,
        config,
        ranks,
    )?;
    let model = GraphBatches { model: &*linked.model, edge_types: false };
    let trainer = LinkTrainer {
        manager: &context.manager,
        group: &*context.group,
        model: &model,
        score: &linked.score,
        parameters: &parameters,
        seed: 0,
        policy: Policy::default(),
        reduce: GradientReduce::Mean,
        log: None,
    };
    let batch_of = |epoch| loader.epoch(epoch).next().unwrap();
    let judged = trainer.evaluate(&loader)?;
    let batch = batch_of(0)?;
    let (loss, _, scores) = step(context, &linked, graph, &batch)?;
    assert_eq!([judged.auc, judged.mean_reciprocal_rank], measures(&batch, &scores).map(Some));
    assert!((judged.loss.unwrap() - loss).abs() < 1e-6);
    let (loss, gradient, _) = step(context, &linked, graph, &batch_of(1)?)?;
    let expected: Tensor = &*parameters.flat().pin()? - gradient;
    let sgd = OptimizerConfig::Sgd { lr: 1.0, momentum: 0.0, weight_decay: 0.0 };
    let mut optimizer = Optimizer::new(sgd, &context.manager)?;
    let pass = trainer.pass(&loader, 1, &mut optimizer, None)?;
    assert!((pass.loss.unwrap() - loss).abs() < 1e-12);
    let difference: Tensor = &*parameters.flat().pin()? - expected;
    assert!(difference.abs().max().double_value(&[]) < 1e-12);
    Ok(())
}
