//! Every layer at once: the same numbers for any partitioning, and gradients that are derivatives.
//!
//! The graph has the features of partitioned data that tests forget: isolated nodes, self loops, parallel edges, nodes without
//! in-edges, a partition without nodes and one with a single node.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sar::Result;
use sar::engine::tape::{
    EdgeSource, Graph, GraphShardManager, ParameterBuilder, Policy, Tape, construct_mfgs,
};
use sar::nn::{
    AppnpConfig, Gcn2Options, GcnOptions, GinOptions, Heads, JumpMode, Loss, ModelConfig,
    ModelKind, Norm, NormKind, Regularizer, RgcnOptions, SageAggregator, SageOptions, SgcOptions,
    SignOptions, Sizes, TagOptions, Task,
};
use sar::testing::{RankContext, TestGraph, on_ranks};
use tch::{Kind, Tensor};

const NODES: u32 = 40;
const FEATURES: i64 = 5;
const RELATIONS: u16 = 3;
/// Width of the edge features.
const EDGE_FEATURES: i64 = 2;
const SIZES: Sizes =
    Sizes { in_feats: FEATURES, out_feats: 3, num_rels: RELATIONS as usize, edge_feats: 0 };

const PARTITIONINGS: [&[u32]; 6] = [
    &[0, 40],
    &[0, 23, 40],
    &[0, 10, 11, 40],
    &[0, 10, 10, 25, 33, 40],
    &[0, 5, 10, 15, 20, 25, 30, 35, 40],
    &[0, 0, 40],
];

fn kinds() -> Vec<ModelKind> {
    let mut kinds = vec![ModelKind::Sage(SageOptions {
        aggregator: SageAggregator::Pool,
        edge_weights: false,
    })];
    for aggregator in [SageAggregator::Mean, SageAggregator::Gcn] {
        let sage = |edge_weights| ModelKind::Sage(SageOptions { aggregator, edge_weights });
        kinds.extend([false, true].map(sage));
    }
    for norm in [Norm::Both, Norm::Left, Norm::Right, Norm::None] {
        kinds.extend(
            [false, true].map(|edge_weights| ModelKind::Gcn(GcnOptions { norm, edge_weights })),
        );
    }
    for attention_dropout in [0.0, 0.4] {
        let heads = Heads { heads: 2, attention_dropout };
        kinds.extend([ModelKind::Gat(heads), ModelKind::Gatv2(heads), ModelKind::Egat(heads)]);
    }
    kinds.extend(
        [false, true]
            .map(|edge_weights| ModelKind::Gin(GinOptions { learn_eps: true, edge_weights })),
    );
    for regularizer in [Regularizer::None, Regularizer::Basis(2), Regularizer::Bdd(1)] {
        kinds.push(ModelKind::Rgcn(RgcnOptions { regularizer }));
    }
    kinds.extend(
        [false, true].map(|edge_weights| ModelKind::Tag(TagOptions { hops: 2, edge_weights })),
    );
    for (initial_weight, edge_weights) in [(false, false), (true, false), (true, true)] {
        let options = Gcn2Options { alpha: 0.2, lambda: 0.5, initial_weight, edge_weights };
        kinds.push(ModelKind::Gcn2(options));
    }
    kinds
}

/// Every layer in a plain stack; and, at one width, what lies between layers, and the models that are not stacks.
fn models(hidden: i64) -> Vec<ModelConfig> {
    let plain = |kind| ModelConfig { kind, layers: 3, hidden, dropout: 0.3, ..Default::default() };
    let mut models: Vec<_> = kinds().into_iter().map(plain).collect();
    if hidden < 8 {
        return models;
    }
    let sage =
        ModelKind::Sage(SageOptions { aggregator: SageAggregator::Mean, edge_weights: false });
    let gat = ModelKind::Gat(Heads { heads: 2, attention_dropout: 0.0 });
    for (kind, norm, jumping_knowledge, residual) in [
        (sage, NormKind::Batch, JumpMode::None, true),
        (sage, NormKind::Layer, JumpMode::Cat, false),
        (gat, NormKind::Batch, JumpMode::Max, true),
        (gat, NormKind::Layer, JumpMode::None, true),
    ] {
        models.push(ModelConfig { norm, jumping_knowledge, residual, ..plain(kind) });
    }
    for edge_weights in [false, true] {
        models.push(plain(ModelKind::Appnp(AppnpConfig { hops: 4, alpha: 0.2, edge_weights })));
        models.push(plain(ModelKind::Sgc(SgcOptions { hops: 2, edge_weights })));
        models.push(plain(ModelKind::Sign(SignOptions { hops: 2, edge_weights })));
    }
    models
}

/// Layers of GATv2 take edge features where they have dropout on attention, too.
fn sizes(kind: ModelKind) -> Sizes {
    match kind {
        ModelKind::Egat(_) => Sizes { edge_feats: EDGE_FEATURES, ..SIZES },
        ModelKind::Gatv2(heads) if heads.attention_dropout > 0.0 => {
            Sizes { edge_feats: EDGE_FEATURES, ..SIZES }
        }
        _ => SIZES,
    }
}

/// Features of edges, by their ids.
fn edge_source() -> EdgeSource {
    let read = |edges: &[u64]| {
        let wave = |edge: u64, column: i64| (edge as f64 * 1.3 + column as f64 * 2.1).sin();
        let row = |edge: &u64| (0..EDGE_FEATURES).map(|c| wave(*edge, c)).collect::<Vec<_>>();
        let values: Vec<f64> = edges.iter().flat_map(row).collect();
        Ok(Tensor::from_slice(&values).view([-1, EDGE_FEATURES]))
    };
    EdgeSource { width: EDGE_FEATURES, kind: Kind::Double, read: std::rc::Rc::new(read) }
}

fn edges() -> Vec<(u32, u32, f32)> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut edges = Vec::new();
    for _ in 0..150 {
        // Nodes 36.. are isolated, nodes 30..36 have no in-edges.
        let edge = (rng.random_range(0..36), rng.random_range(0..30), rng.random_range(0.1..2.0));
        edges.push(edge);
        if rng.next_u32() % 5 == 0 {
            edges.push((edge.0, edge.1, 1.5));
        }
    }
    edges.extend([(3, 3, 0.5), (12, 12, 1.0), (12, 12, 2.0)]);
    // A node with edges from most others.
    edges.extend((0..36).map(|source| (source, 25, 0.7)));
    edges
}

fn features(kind: Kind) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let values: Vec<f64> =
        (0..i64::from(NODES) * FEATURES).map(|_| rng.random_range(-1.0..1.0)).collect();
    Tensor::from_slice(&values).view([i64::from(NODES), FEATURES]).to_kind(kind)
}

#[derive(Debug)]
struct Step {
    logits: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
}

/// The settings of a step.
#[derive(Clone, Copy)]
struct How<'a> {
    model: &'a ModelConfig,
    kind: Kind,
    policy: Policy,
    on: On,
}

/// The graphs that layers run on.
#[derive(Clone, Copy, PartialEq)]
enum On {
    /// The full graph, rank after rank.
    Full,
    /// Message flow graphs of the nodes of the mask, which return only the logits of those nodes.
    Mfgs,
    /// The same, whose sums take fewer rows between ranks.
    CoveredMfgs,
    /// Each partition's graph in one piece.
    OneShot,
    /// The full graph, whose sums take fewer rows between ranks.
    Covered,
}

impl<'a> How<'a> {
    fn new(model: &'a ModelConfig, kind: Kind) -> Self {
        How { model, kind, policy: Policy::Rematerialise, on: On::Full }
    }
}

/// A change that is added to one element of the flat parameters.
type Nudge = (usize, f64);

/// One training step on one rank; with a nudge, only the loss.
fn step(
    context: &RankContext,
    full: &GraphShardManager,
    nodes: std::ops::Range<u32>,
    How { model, kind, policy, on }: How<'_>,
    nudge: Option<Nudge>,
) -> Result<Step> {
    let manager = &context.manager;
    let (start, len) = (i64::from(nodes.start), nodes.len() as i64);
    let one_shot = full.get_full_partition_graph()?;
    let graph: &dyn Graph = if on == On::OneShot { &one_shot } else { full };
    let mut builder = ParameterBuilder::new(11);
    let built = model.build(&mut builder, sizes(model.kind))?;
    let parameters = std::rc::Rc::new(builder.finish(manager, kind)?);
    // Biases of 0 would put nodes without in-edges on the kink of the ReLU.
    let mut flat: Vec<f64> = Vec::try_from(parameters.flat().pin()?.to_kind(Kind::Double))?;
    flat.iter_mut().enumerate().for_each(|(i, v)| *v += 0.05 * (i as f64).cos());
    if let Some((index, by)) = nudge {
        flat[index] += by;
    }
    parameters.set_flat(Tensor::from_slice(&flat).to_kind(kind))?;
    let x = manager.track("features", features(kind).narrow(0, start, len).copy());
    let labels: Vec<i64> = nodes.clone().map(|v| i64::from(v % 3)).collect();
    let labels = Tensor::from_slice(&labels);
    let mask: Vec<bool> = nodes.map(|v| v % 4 != 1).collect();
    let mask = Tensor::from_slice(&mask);

    let mut mfgs;
    let mut tape = Tape::training(manager, &parameters, policy, 3, 1);
    let x = tape.input(&x);
    let mut x = built.precompute(&mut tape, graph, x, None)?;
    let mut graphs = vec![graph; model.num_graphs()];
    let (mut labels, mut mask) = (labels, mask);
    if matches!(on, On::Mfgs | On::CoveredMfgs) {
        let seeds: Vec<i64> = Vec::try_from(mask.nonzero().view([-1]))?;
        let seeds = seeds.into_iter().map(|row| row as u32).collect();
        mfgs = construct_mfgs(full, seeds, model.num_graphs())?;
        if on == On::CoveredMfgs {
            mfgs.graphs.iter_mut().try_for_each(GraphShardManager::cover_sums)?;
        }
        x = tape.rows(&x, &manager.track("source-rows", mfgs.sources.clone()))?;
        graphs = mfgs.graphs.iter().map(|graph| graph as &dyn Graph).collect();
        labels = labels.masked_select(&mask);
        mask = mask.masked_select(&mask);
    }
    let logits = built.forward(&mut tape, &graphs, x)?;
    let values = logits.pin()?.copy();
    let (loss, gradient) =
        Loss::new(Task::Classification).forward(&values, &labels, &mask, 30.0)?;
    if nudge.is_some() {
        return Ok(Step { logits: vec![], loss, gradient: vec![] });
    }
    let gradients = tape.backward(logits, gradient)?;
    let gradient = parameters.flat_gradients(&gradients)?;
    Ok(Step {
        logits: Vec::try_from(values.to_kind(Kind::Double).flatten(0, -1))?,
        loss,
        gradient: Vec::try_from(gradient.to_kind(Kind::Double))?,
    })
}

/// Steps on all ranks, with the ranks' results put together.
fn whole_steps(boundaries: &[u32], slots: usize, hows: &[(How<'_>, Option<Nudge>)]) -> Vec<Step> {
    let edges = edges();
    let types = (0..edges.len()).map(|i| i as u16 % RELATIONS).collect();
    let graph = TestGraph { edges, types, boundaries: boundaries.to_vec() };
    let parts = on_ranks(boundaries.len() - 1, slots, |context| {
        let mut full = graph.on(&context)?;
        full.set_edge_source(edge_source());
        let nodes = graph.nodes(context.rank);
        let mut steps: Vec<(usize, Step)> = Vec::new();
        for normalised in [false, true] {
            if normalised {
                full.normalise_edge_weights()?;
            }
            if hows.iter().any(|(how, _)| how.on == On::Covered) {
                full.cover_sums()?;
            }
            for (i, (how, nudge)) in hows.iter().enumerate() {
                if how.model.kind.normalises_edge_weights() == normalised {
                    steps.push((i, step(&context, &full, nodes.clone(), *how, *nudge)?));
                }
            }
        }
        steps.sort_by_key(|(i, _)| *i);
        Ok(steps.into_iter().map(|(_, step)| step).collect::<Vec<_>>())
    });
    let mut parts = parts.unwrap().into_iter();
    let mut whole = parts.next().unwrap();
    for part in parts {
        for (whole, part) in whole.iter_mut().zip(part) {
            whole.logits.extend(part.logits);
            whole.loss += part.loss;
            whole.gradient.iter_mut().zip(part.gradient).for_each(|(sum, g)| *sum += g);
        }
    }
    whole
}

/// A step of each model.
fn each<'a>(
    boundaries: &[u32],
    slots: usize,
    models: &'a [ModelConfig],
    how: impl Fn(&'a ModelConfig) -> How<'a>,
) -> Vec<Step> {
    let hows: Vec<_> = models.iter().map(|model| (how(model), None)).collect();
    whole_steps(boundaries, slots, &hows)
}

fn assert_close(what: &str, ours: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
    for (i, (a, b)) in ours.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * scale, "{what}[{i}]: {a} instead of {b}");
    }
}

/// One step after the other.
fn assert_same(what: &str, models: &[ModelConfig], ours: &[Step], expected: &[Step], within: f64) {
    for ((model, ours), expected) in models.iter().zip(ours).zip(expected) {
        let what = format!("{model:?} {what}");
        assert_close(&what, &ours.logits, &expected.logits, within);
        assert_close(&what, &ours.gradient, &expected.gradient, within);
        assert_close(&what, &[ours.loss], &[expected.loss], within);
    }
}

#[test]
fn the_numbers_do_not_depend_on_the_partitioning() {
    // Widths that grow and that shrink take the two orders of multiplying and aggregating.
    for hidden in [4, 8] {
        let models = models(hidden);
        // Single precision adds only rounding to what double precision shows.
        let all = &PARTITIONINGS[1..];
        for (kind, tolerance, partitionings) in
            [(Kind::Double, 1e-10, all), (Kind::Float, 1e-5, &all[..2])]
        {
            let one = each(PARTITIONINGS[0], 1, &models, |model| How::new(model, kind));
            for boundaries in partitionings {
                let many = each(boundaries, 1, &models, |model| How::new(model, kind));
                assert_same(&format!("{kind:?} {boundaries:?}"), &models, &many, &one, tolerance);
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_how_many_are_resident() {
    let models = models(8);
    let steps = |slots| each(PARTITIONINGS[3], slots, &models, |m| How::new(m, Kind::Float));
    for (alone, together) in steps(1).iter().zip(steps(5)) {
        assert_eq!(alone.logits, together.logits);
        assert_eq!(alone.gradient, together.gradient);
    }
}

#[test]
fn retaining_local_graphs_gives_the_same_numbers() {
    let models = models(8);
    let remat = each(PARTITIONINGS[2], 1, &models, |model| How::new(model, Kind::Double));
    let retain = each(PARTITIONINGS[2], 1, &models, |model| How {
        policy: Policy::Retain,
        ..How::new(model, Kind::Double)
    });
    assert_same("retained", &models, &retain, &remat, 1e-12);
}

#[test]
fn one_shot_aggregation_gives_the_same_numbers() {
    let models = models(8);
    for boundaries in [PARTITIONINGS[0], PARTITIONINGS[3], PARTITIONINGS[5]] {
        let sequential = each(boundaries, 1, &models, |model| How::new(model, Kind::Double));
        let one_shot = each(boundaries, 1, &models, |model| How {
            on: On::OneShot,
            ..How::new(model, Kind::Double)
        });
        assert_same("in one shot", &models, &one_shot, &sequential, 1e-12);
    }
}

#[test]
fn sums_over_fewer_rows_give_the_same_numbers() {
    let models = models(8);
    for boundaries in PARTITIONINGS {
        let rows = each(boundaries, 1, &models, |model| How::new(model, Kind::Double));
        let covered = each(boundaries, 1, &models, |model| How {
            on: On::Covered,
            ..How::new(model, Kind::Double)
        });
        assert_same("over fewer rows", &models, &covered, &rows, 1e-12);
    }
}

#[test]
fn sums_take_fewer_rows_than_sources() {
    let sources = |graph: &dyn Graph| -> usize {
        graph.shards().iter().skip(1).map(|shard| shard.num_sources()).sum()
    };
    let graph = TestGraph { edges: edges(), types: vec![], boundaries: PARTITIONINGS[1].to_vec() };
    let fewer = on_ranks(2, 1, |context| {
        let mut full = graph.on(&context)?;
        full.cover_sums()?;
        assert!(full.for_sums(false).is_none(), "the edges have weights");
        Ok((sources(full.for_sums(true).unwrap()), sources(&full)))
    });
    let (fewer, all): (Vec<_>, Vec<_>) = fewer.unwrap().into_iter().unzip();
    let (fewer, all) = (fewer.iter().sum::<usize>(), all.iter().sum::<usize>());
    assert!(10 * fewer <= 9 * all && fewer > 0, "{fewer} of {all}");
}

#[test]
fn message_flow_graphs_give_the_same_numbers() {
    let mut models = models(8);
    // Batch statistics need all nodes, but message flow graphs leave some out.
    models.retain(|config| config.norm != NormKind::Batch);
    for boundaries in [PARTITIONINGS[0], PARTITIONINGS[1], PARTITIONINGS[3]] {
        let mut full = each(boundaries, 1, &models, |model| How::new(model, Kind::Double));
        let mfgs = [On::Mfgs, On::CoveredMfgs].map(|on| {
            each(boundaries, 1, &models, |model| How { on, ..How::new(model, Kind::Double) })
        });
        for step in &mut full {
            let rows = step.logits.chunks(SIZES.out_feats as usize).enumerate();
            step.logits = rows.filter(|(v, _)| v % 4 != 1).flat_map(|(_, r)| r.to_vec()).collect();
        }
        for mfgs in &mfgs {
            assert_same("on message flow graphs", &models, mfgs, &full, 1e-12);
        }
    }
}

#[test]
fn gradients_are_derivatives() {
    const BY: f64 = 1e-6;
    const SAMPLES: usize = 3;
    for (hidden, boundaries) in [(4, PARTITIONINGS[0]), (8, PARTITIONINGS[2])] {
        let models = models(hidden);
        let gradients = each(boundaries, 1, &models, |model| How::new(model, Kind::Double));
        let mut nudged = Vec::new();
        for (model, step) in models.iter().zip(&gradients) {
            let mut rng = ChaCha8Rng::seed_from_u64(8);
            for _ in 0..SAMPLES {
                let i = rng.random_range(0..step.gradient.len());
                let how = How::new(model, Kind::Double);
                nudged.extend([BY, -BY].map(|by| (how, Some((i, by)))));
            }
        }
        let losses = whole_steps(boundaries, 1, &nudged);
        for ((how, nudge), losses) in nudged.iter().step_by(2).zip(losses.chunks(2)) {
            let model = models.iter().position(|model| std::ptr::eq(model, how.model)).unwrap();
            let (i, _) = nudge.unwrap();
            let numeric = (losses[0].loss - losses[1].loss) / (2.0 * BY);
            let ours = gradients[model].gradient[i];
            assert!(
                (numeric - ours).abs() < 1e-7 + 1e-5 * numeric.abs(),
                "{:?}, parameter {i}: {ours} instead of {numeric}",
                how.model
            );
        }
    }
}
