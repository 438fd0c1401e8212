//! Values of edges: softmax over in-edges, messages as edge values, edge features in messages; compared with DGL
//! (tests/fixtures/edge_values.py), plain loops and the fused operations.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/tensor_files.rs"]
mod tensor_files;

use std::collections::HashMap;
use std::rc::Rc;

use sar::Result;
use sar::engine::tape::{
    Attend, EdgeBatch, Graph, GraphShardManager, Init, Parameter, ParameterBuilder, Policy,
    Propagation, Reduce, Scoring, Tape, Var, Weight,
};
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;
use sar::io::IoCounters;
use sar::load::{EdgeData, EdgeFeatures, Shards};
use sar::nn::{AttentionConfig, Conv, ConvInput, EgatConv, EgatConvConfig, HeadMerge};
use sar::testing::{RankContext, TestGraph, check_layer, on_ranks};
use tch::{Kind, Tensor};
use tensor_files::{Tensors, assert_close, tensors};

const PARTITIONINGS: [&[u32]; 3] = [&[0, 40], &[0, 10, 11, 40], &[0, 10, 10, 25, 33, 40]];

/// A graph with parallel edges, self loops and nodes without in-edges; one node has most of them.
fn graph(boundaries: &[u32]) -> TestGraph {
    let edges = (0..400_u32).map(|i| (i * 7 % 40, if i < 200 { 3 } else { i * i % 31 }, 1.0));
    TestGraph { edges: edges.collect(), types: vec![], boundaries: boundaries.to_vec() }
}

fn waves(rows: impl Iterator<Item = u64>, columns: usize, factor: f64) -> Vec<f64> {
    let wave = |row: u64, column: usize| (row as f64 * factor + column as f64 * 2.3).sin();
    rows.flat_map(|row| (0..columns).map(move |column| wave(row, column))).collect()
}

fn matrix(values: &[f64], columns: usize, kind: Kind) -> Tensor {
    Tensor::from_slice(values).view([-1, columns as i64]).to_kind(kind)
}

fn values(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).contiguous().flatten(0, -1)).unwrap()
}

/// Rows of all ranks together, by the index of their edge or node.
fn in_order(rows: &[(u64, Vec<f64>)]) -> Vec<f64> {
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_by_key(|(row, _)| *row);
    assert!(rows.iter().enumerate().all(|(i, (row, _))| *row == i as u64));
    rows.into_iter().flat_map(|(_, values)| values.clone()).collect()
}

fn numbered(numbers: &[u64], tensor: &Tensor) -> Vec<(u64, Vec<f64>)> {
    let width = tensor.size()[1] as usize;
    let values = values(tensor);
    numbers.iter().copied().zip(values.chunks(width).map(<[f64]>::to_vec)).collect()
}

/// Softmax and gradient of the scores of these edges (by index), for the gradients `gy`.
fn softmax(
    context: &RankContext,
    graph: &dyn Graph,
    scores: &Tensor,
    gy: &Tensor,
) -> Result<[Tensor; 2]> {
    let parameters = Rc::new(ParameterBuilder::new(0).finish(&context.manager, scores.kind())?);
    let mut tape = Tape::training(&context.manager, &parameters, Policy::Rematerialise, 0, 1);
    let scores = tape.trainable_input(&context.manager.track("scores", scores.copy()));
    let y = tape.edge_softmax(graph, &scores)?;
    let output = y.pin()?.copy();
    let gradients = tape.backward(y, gy.copy())?;
    let gradient = gradients.input(&scores).unwrap().pin()?.copy();
    Ok([output, gradient])
}

/// The same result in two passes over edges with these destinations.
fn naive_softmax(dst: &[u32], scores: &[f64], gy: &[f64], heads: usize) -> [Vec<f64>; 2] {
    let (mut y, mut gradient) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
    for head in 0..heads {
        for v in 0..=*dst.iter().max().unwrap() {
            let places: Vec<usize> =
                (0..dst.len()).filter(|e| dst[*e] == v).map(|e| e * heads + head).collect();
            let largest = places.iter().fold(f64::NEG_INFINITY, |m, i| m.max(scores[*i]));
            let sum: f64 = places.iter().map(|i| (scores[*i] - largest).exp()).sum();
            for i in &places {
                y[*i] = (scores[*i] - largest).exp() / sum;
            }
            let delta: f64 = places.iter().map(|i| y[*i] * gy[*i]).sum();
            for i in &places {
                gradient[*i] = y[*i] * (gy[*i] - delta);
            }
        }
    }
    [y, gradient]
}

#[test]
fn edge_softmax_is_softmax_in_two_passes_for_any_partitioning_and_any_scores() {
    const HEADS: usize = 3;
    let edges = graph(PARTITIONINGS[0]).edges;
    let dst: Vec<u32> = edges.iter().map(|(_, dst, _)| *dst).collect();
    let numbers = || 0..edges.len() as u64;
    let gy = waves(numbers(), HEADS, 0.9);
    for (scale, kind, tolerance) in
        [(1.0, Kind::Double, 1e-13), (1e4, Kind::Double, 1e-13), (1e4, Kind::Float, 1e-6)]
    {
        // Whole numbers, so that single precision has the same scores.
        let scores: Vec<f64> =
            waves(numbers(), HEADS, 1.3).iter().map(|s| (s * scale * 4.0).round() / 4.0).collect();
        let [expected, expected_gradient] = naive_softmax(&dst, &scores, &gy, HEADS);
        for boundaries in PARTITIONINGS {
            let graph = graph(boundaries);
            let parts = on_ranks(boundaries.len() - 1, 1, |context| {
                let graph = graph.on(&context)?;
                let rows = graph.edge_ids()?;
                let pick = |all: &[f64]| {
                    let row = |row: &u64| all[*row as usize * HEADS..][..HEADS].to_vec();
                    matrix(&rows.iter().flat_map(row).collect::<Vec<_>>(), HEADS, kind)
                };
                let [y, gradient] = softmax(&context, &graph, &pick(&scores), &pick(&gy))?;
                Ok((numbered(&rows, &y), numbered(&rows, &gradient)))
            });
            let (y, gradient): (Vec<_>, Vec<_>) = parts.unwrap().into_iter().unzip();
            let what = format!("{scale} {kind:?} {boundaries:?}");
            assert_close(&what, &in_order(&y.concat()), &expected, tolerance);
            assert_close(&what, &in_order(&gradient.concat()), &expected_gradient, tolerance);
        }
    }
}

#[test]
fn edge_values_of_another_number_are_refused() {
    let graph = graph(PARTITIONINGS[0]);
    let error = on_ranks(1, 1, |context| {
        let graph = graph.on(&context)?;
        let (scores, gy) =
            (matrix(&[0.0; 12], 3, Kind::Double), matrix(&[0.0; 12], 3, Kind::Double));
        softmax(&context, &graph, &scores, &gy)
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("4 rows for 400 edges"), "{error}");
}

#[test]
fn weights_are_divided_by_the_roots_of_their_sums_and_must_be_positive() {
    let weight = |i: usize| (i % 7 + 1) as f32;
    let mut whole = graph(PARTITIONINGS[2]);
    whole.edges.iter_mut().enumerate().for_each(|(i, edge)| edge.2 = weight(i));
    let sum = |of: &dyn Fn(&(u32, u32, f32)) -> bool| -> f64 {
        whole.edges.iter().filter(|edge| of(edge)).map(|edge| f64::from(edge.2)).sum()
    };
    let expected: Vec<f64> = whole
        .edges
        .iter()
        .map(|edge| f64::from(edge.2) / (sum(&|e| e.0 == edge.0) * sum(&|e| e.1 == edge.1)).sqrt())
        .collect();
    let parts = on_ranks(5, 1, |context| {
        let mut graph = whole.on(&context)?;
        graph.normalise_edge_weights()?;
        let mut weights = Vec::new();
        for shard in graph.shards() {
            let (by_dst, by_src) = (shard.by_dst()?, shard.by_src()?);
            let (Some(own), Some(other)) = (&by_dst.weights, &by_src.weights) else { continue };
            // The same weights exist in the other order.
            let sorted = |weights: &[f32]| {
                let mut weights = weights.to_vec();
                weights.sort_by(f32::total_cmp);
                weights
            };
            assert_eq!(sorted(own), sorted(other));
            weights.extend(own.iter().map(|weight| vec![f64::from(*weight)]));
        }
        Ok(graph.edge_ids()?.into_iter().zip(weights).collect::<Vec<_>>())
    });
    assert_close("weights", &in_order(&parts.unwrap().concat()), &expected, 1e-7);

    whole.edges[77].2 = 0.0;
    let refused = on_ranks(5, 1, |context| whole.on(&context)?.normalise_edge_weights());
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("weight 0") && error.contains("positive"), "{error}");
}

/// GAT in pieces: scores of edges, their softmax, and messages multiplied by it.
struct GatInPieces {
    weight: Parameter,
    left: Parameter,
    right: Parameter,
    /// Whether the fused operation computes it instead.
    fused: bool,
    /// Whether the messages get no gradient.
    constant: bool,
}

const HEADS: i64 = 2;

impl GatInPieces {
    fn new(parameters: &mut ParameterBuilder, sizes: (i64, i64)) -> Self {
        let mut add = |name: &str, shape: &[i64]| {
            parameters.add(name, shape, Init::XavierUniform { gain: 1.0 })
        };
        GatInPieces {
            weight: add("weight", &[sizes.0, sizes.1]),
            left: add("left", &[sizes.1, HEADS]),
            right: add("right", &[sizes.1, HEADS]),
            fused: false,
            constant: false,
        }
    }
}

impl Conv for GatInPieces {
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let linear = |tape: &mut Tape<'a>, x: &Var, weight| {
            tape.linear(x, &Weight::InOut(weight), None, None)
        };
        let messages = linear(tape, &src, self.weight)?;
        let own = linear(tape, &dst, self.weight)?;
        let left = linear(tape, &messages, self.left)?;
        let right = linear(tape, &own, self.right)?;
        let messages = if self.constant { tape.input(&messages.value()) } else { messages };
        if self.fused {
            let scoring = Scoring::Additive { src: left, dst: right };
            let how = Attend { heads: HEADS as usize, scoring, negative_slope: 0.2, dropout: 0.0 };
            return tape.attend(graph, messages, how);
        }
        let ends = Propagation { src: left, dst: right, edge: None, parameters: &[] };
        let scores = tape.apply_edges(graph, ends, |edges| {
            let sum = edges.src.f_add(edges.dst)?;
            Ok(sum.f_maximum(&sum.f_mul_scalar(0.2)?)?)
        })?;
        let attention = tape.edge_softmax(graph, &scores)?;
        drop(scores);
        let inputs =
            Propagation { src: messages, dst: own, edge: Some(attention), parameters: &[] };
        tape.propagate(graph, inputs, Reduce::Sum, |edges| {
            let heads = edges.src.f_view([edges.src.size()[0], HEADS, -1])?;
            Ok(heads.f_mul(&edges.edge.f_unsqueeze(2)?)?.f_flatten(1, 2)?)
        })
    }
}

#[test]
fn attention_can_be_put_together_from_its_pieces() {
    check_layer(|parameters, in_feats, out_feats| {
        Ok(GatInPieces::new(parameters, (in_feats, out_feats)))
    })
    .unwrap();
    for boundaries in PARTITIONINGS {
        let graph = graph(boundaries);
        let differences = on_ranks(boundaries.len() - 1, 1, |context| {
            let full = graph.on(&context)?;
            let nodes = graph.nodes(context.rank);
            let x = matrix(&waves(nodes.map(u64::from), 3, 1.7), 3, Kind::Double);
            let x = context.manager.track("x", x);
            let mut outcomes = Vec::new();
            for (constant, fused) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut builder = ParameterBuilder::new(5);
                let layer = GatInPieces::new(&mut builder, (3, 4));
                let layer = GatInPieces { fused, constant, ..layer };
                let parameters = Rc::new(builder.finish(&context.manager, Kind::Double)?);
                let (manager, policy) = (&context.manager, Policy::Rematerialise);
                let mut tape = Tape::training(manager, &parameters, policy, 0, 1);
                let x = tape.input(&x);
                let y = layer.forward(&mut tape, ConvInput::new(&full, x.clone(), x))?;
                let output = y.pin()?.copy();
                let gradients = tape.backward(y, output.sin())?;
                let mut outcome = values(&output);
                outcome.extend(values(&parameters.flat_gradients(&gradients)?));
                outcomes.push(outcome);
            }
            for pair in outcomes.chunks(2) {
                assert_close("in pieces and fused", &pair[0], &pair[1], 1e-12);
            }
            Ok(())
        });
        differences.unwrap();
    }
}

/// Messages from an edge's values, which are themselves learned: a linear map of the edge's features, and a row per type.
struct EdgeMlp {
    first: Parameter,
    second: Parameter,
    types: Parameter,
}

impl Conv for EdgeMlp {
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let ends = Propagation { src: src.clone(), dst: dst.clone(), edge: None, parameters: &[] };
        let edge = tape.apply_edges(graph, ends, |edges| {
            Ok(Tensor::f_cat(&[edges.weight, &edges.weight.f_sin()?], 1)?)
        })?;
        let edge = tape.linear(&edge, &Weight::InOut(self.first), None, None)?;
        let edge = tape.segment("tanh", &[&edge], &[], |x, _| Ok(x[0].f_tanh()?))?;
        let parameters = &[self.second, self.types];
        let inputs = Propagation { src, dst, edge: Some(edge), parameters };
        tape.propagate(graph, inputs, Reduce::Mean, |edges| {
            let [second, types] = edges.parameters else { unreachable!() };
            let own = types.f_index_select(0, edges.etype)?;
            let source = edges.src.f_narrow(1, 0, own.size()[1])?;
            Ok(edges.edge.f_mm(second)?.f_add(&own)?.f_mul(&source)?)
        })
    }
}

#[test]
fn edge_values_may_be_learned() {
    check_layer(|parameters, _, out_feats| {
        let init = Init::XavierUniform { gain: 1.0 };
        Ok(EdgeMlp {
            first: parameters.add("first", &[2, 3], init),
            second: parameters.add("second", &[3, out_feats], init),
            types: parameters.add("types", &[3, out_feats], init),
        })
    })
    .unwrap();
}

fn dgls() -> Tensors {
    let path = common::repository("tests/fixtures/edge_values/dgl.safetensors");
    tensors(&std::fs::read(path).unwrap())
}

/// The results of one rank: rows by index, or gradients of parameters.
type Outcome = HashMap<String, Vec<(u64, Vec<f64>)>>;

const PARAMETERS: [&str; 4] = ["A", "B", "W", "M"];

/// The computation of tests/fixtures/edge_values.py on one rank.
fn dgl_rank(context: &RankContext, dgl: &Tensors) -> Result<Outcome> {
    let config = PartitionConfig::open(&common::repository("tests/fixtures/edge_values/g.json"))?;
    let partition = Partition::open(&config, context.rank)?;
    let manager = &context.manager;
    let columns = EdgeData { ids: true, ..EdgeData::default() };
    let Shards { shards, sources } = Shards::load(&partition, columns)?;
    let shards = shards.into_iter().map(|shard| manager.track_shard("shard", shard)).collect();
    let nodes = partition.book().node_range(context.rank);
    let graph = GraphShardManager::new(manager, &context.group, shards, nodes.start, sources)?;
    let edges = graph.edge_ids()?;
    let features = EdgeFeatures::find(&partition, "feat", IoCounters::default())?;
    let features = features.read(&edges, Kind::Double)?;

    let mut outcome = Outcome::new();
    for scale in [1, 10_000] {
        let gy = matrix(&waves(edges.iter().copied(), 3, 0.9), 3, Kind::Double).cos();
        let [y, gradient] = softmax(context, &graph, &(&features * f64::from(scale)), &gy)?;
        outcome.insert(format!("softmax.{scale}"), numbered(&edges, &y));
        outcome.insert(format!("softmax_grad.{scale}"), numbered(&edges, &gradient));
    }

    let mut builder = ParameterBuilder::new(0);
    let handles =
        PARAMETERS.map(|name| builder.add(name, &dgl[&format!("param.{name}")].0, Init::Zeros));
    let parameters = Rc::new(builder.finish(manager, Kind::Double)?);
    let flat = parameters.flat().pin()?.copy();
    for (name, parameter) in PARAMETERS.iter().zip(handles) {
        let (shape, values) = &dgl[&format!("param.{name}")];
        parameters.view(&flat, parameter)?.copy_(&Tensor::from_slice(values).view(&shape[..]));
    }
    parameters.set_flat(flat)?;
    let [a, b, w, m] = handles;
    let x = matrix(&waves(nodes.clone(), 2, 1.7), 2, Kind::Double);
    let (x, features) = (manager.track("x", x), manager.track("edge-features", features));
    let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, 0, 1);
    let (x, e) = (tape.input(&x), tape.input(&features));
    let ends =
        Propagation { src: x.clone(), dst: x.clone(), edge: Some(e.clone()), parameters: &[a, b] };
    let scores = tape.apply_edges(&graph, ends, |edges: &EdgeBatch<'_>| {
        let [a, b] = edges.parameters else { unreachable!() };
        let sum = edges.edge.f_mm(a)?.f_add(&edges.src.f_mm(b)?)?;
        Ok(sum.f_maximum(&sum.f_mul_scalar(0.2)?)?)
    })?;
    let attention = tape.edge_softmax(&graph, &scores)?;
    let factor = tape.linear(&e, &Weight::InOut(m), None, None)?;
    let factor =
        tape.segment("factor", &[&attention, &factor], &[], |x, _| Ok(x[0].f_mul(&x[1])?))?;
    let inputs = Propagation { src: x.clone(), dst: x, edge: Some(factor), parameters: &[w] };
    let y = tape.propagate(&graph, inputs, Reduce::Sum, |edges| {
        Ok(edges.src.f_mm(&edges.parameters[0])?.f_mul(edges.edge)?)
    })?;
    let output = y.pin()?.copy();
    outcome.insert("output".to_owned(), numbered(&nodes.collect::<Vec<_>>(), &output));
    let gradients = tape.backward(y, output.sin())?;
    for (name, parameter) in PARAMETERS.iter().zip(handles) {
        let gradient = values(&*gradients.get(parameter).unwrap().pin()?);
        outcome.insert(format!("grad.{name}"), vec![(0, gradient)]);
    }
    Ok(outcome)
}

#[test]
fn edge_features_and_edge_softmax_give_dgls_numbers() {
    let dgl = dgls();
    let parts = on_ranks(2, 1, |context| dgl_rank(&context, &dgl)).unwrap();
    for (key, (_, expected)) in dgl.iter().filter(|(key, _)| !key.starts_with("param.")) {
        let ours = if key.starts_with("grad.") {
            // Each rank's part of a gradient belongs to its own edges.
            let [a, b] = [0, 1].map(|rank: usize| &parts[rank][key][0].1);
            a.iter().zip(b).map(|(a, b)| a + b).collect()
        } else {
            in_order(&[parts[0][key].clone(), parts[1][key].clone()].concat())
        };
        assert_close(key, &ours, expected, 1e-9);
    }
}

/// The rows of edges that a layer with two outputs returns.
#[test]
fn egat_returns_rows_of_edges_as_well() {
    let attention = AttentionConfig {
        in_feats: 2,
        out_feats: 3,
        heads: 2,
        feat_drop: 0.0,
        attn_drop: 0.0,
        negative_slope: 0.01,
        residual: false,
        merge: HeadMerge::Concat,
    };
    let config = EgatConvConfig { attention, in_edge_feats: 1, out_edge_feats: 2 };
    let mut edges = graph(PARTITIONINGS[0]).edges;
    edges.iter_mut().enumerate().for_each(|(i, edge)| edge.2 = (i as f32 * 0.7).cos());
    for boundaries in PARTITIONINGS {
        let graph = TestGraph { edges: edges.clone(), ..graph(boundaries) };
        let ranks = on_ranks(boundaries.len() - 1, 1, |context| {
            let full = graph.on(&context)?;
            let nodes = graph.nodes(context.rank);
            let x = matrix(&waves(0..40, 2, 1.7), 2, Kind::Double);
            let mut builder = ParameterBuilder::new(5);
            let layer = EgatConv::new(&mut builder, config);
            let parameters = Rc::new(builder.finish(&context.manager, Kind::Double)?);
            let own = x.narrow(0, i64::from(nodes.start), nodes.len() as i64).copy();
            let own = context.manager.track("x", own);
            let mut tape = Tape::evaluation(&context.manager, &parameters);
            let own = tape.input(&own);
            let input = || ConvInput::new(&full, own.clone(), own.clone());
            let both = layer.forward_edges(&mut tape, input())?;
            let nodes = layer.forward(&mut tape, input())?;
            assert_eq!(values(&*both.nodes.pin()?), values(&*nodes.pin()?));
            let part = |name: &str| {
                let flat = parameters.flat().pin()?.copy();
                let entry = parameters.state().find(|entry| entry.name == name).unwrap();
                Ok::<_, sar::Error>(parameters.part(&flat, entry)?.copy())
            };
            let [ni, nj, fij] = ["fc_ni.weight", "fc_nj.weight", "fc_fij.weight"].map(part);
            let (ni, nj, fij) = (x.mm(&ni?.tr()), x.mm(&nj?.tr()), fij?);
            let expected = full.edge_ids()?.into_iter().map(|id| {
                let (src, dst, weight) = edges[id as usize];
                let row = ni.get(i64::from(src)) + nj.get(i64::from(dst));
                let row = row + fij.view([-1]) * f64::from(weight);
                values(&row.maximum(&(&row * 0.01)).view([1, -1]))
            });
            let expected: Vec<f64> = expected.flatten().collect();
            assert_close("rows of edges", &values(&*both.edges.pin()?), &expected, 1e-12);
            Ok(())
        });
        ranks.unwrap();
    }
}
