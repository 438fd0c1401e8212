//! Checks a layer's gradients, and its independence of the partitioning.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tch::{Kind, Tensor};

use super::graph::TestGraph;
use super::ranks::{RankContext, on_ranks};
use crate::engine::tape::{Init, ParameterBuilder, Policy, Tape, Weight};
use crate::nn::{Conv, ConvInput};
use crate::words::error::{Error, Result};

const NODES: usize = 40;
const FEATURES: i64 = 3;
const IN_FEATS: i64 = 5;
const OUT_FEATS: i64 = 4;
const TYPES: u16 = 3;

/// First nodes of the partitions: several sizes, one without nodes, one with a single node.
const PARTITIONINGS: [&[u32]; 4] =
    [&[0, 40], &[0, 23, 40], &[0, 10, 11, 40], &[0, 10, 10, 25, 33, 40]];

/// Relative difference that rounding in double precision explains.
const ROUNDING: f64 = 1e-10;

/// Number of parameters that are checked by finite differences.
const SAMPLES: usize = 12;

/// The result of a forward and backward pass over all ranks.
struct Outcome {
    output: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
}

/// Checks a layer from 5 to 4 features, which `make` creates, on a graph with isolated nodes, self loops, parallel edges, edge
/// weights, which are also features of the edges, and three edge types, in double precision:
///
/// * its output has one row of 4 per node;
/// * neither the order of edges nor the partitioning (1, 2, 3 and 5 partitions, including an empty one and one with a single
///   node) changes output or gradients;
/// * gradients, including those of the inputs, equal finite differences.
///
/// # Errors
/// If a check fails, with a description.
pub fn check_layer<L: Conv>(
    make: impl Fn(&mut ParameterBuilder, i64, i64) -> Result<L> + Sync,
) -> Result<()> {
    let graph = |boundaries: &[u32]| {
        let (edges, types) = edges();
        TestGraph { edges, types, boundaries: boundaries.to_vec() }
    };
    let whole = graph(PARTITIONINGS[0]);
    let reference = run(&whole, &make, None)?;
    if reference.output.len() != NODES * OUT_FEATS as usize {
        let problem = format!("returns {} values for {NODES} nodes", reference.output.len());
        return Err(failed(format!("{problem}; it must return {OUT_FEATS} each")));
    }

    let mut shuffled = whole.clone();
    let mut order: Vec<usize> = (0..whole.edges.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(3));
    shuffled.edges = order.iter().map(|&i| whole.edges[i]).collect();
    shuffled.types = order.iter().map(|&i| whole.types[i]).collect();
    compare("with edges in another order", &run(&shuffled, &make, None)?, &reference)?;
    for boundaries in &PARTITIONINGS[1..] {
        let parts = run(&graph(boundaries), &make, None)?;
        compare(&format!("in partitions that begin at {boundaries:?}"), &parts, &reference)?;
    }

    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let partitioned = graph(PARTITIONINGS[2]);
    for _ in 0..SAMPLES {
        let index = rng.random_range(0..reference.gradient.len());
        let step = 1e-6;
        let loss = |by| Ok::<_, Error>(run(&partitioned, &make, Some(Nudge { index, by }))?.loss);
        let numeric = (loss(step)? - loss(-step)?) / (2.0 * step);
        let ours = reference.gradient[index];
        if (ours - numeric).abs() > 1e-6 + 1e-5 * numeric.abs() {
            let problem =
                format!("has a derivative of {ours} with respect to parameter element {index}");
            return Err(failed(format!("{problem}; finite differences give {numeric}")));
        }
    }
    Ok(())
}

fn failed(problem: String) -> Error {
    Error::config("layer", problem)
}

/// Source, destination and weight, and type, of each edge. Nodes 36.. are isolated, 30..36 have no in-edges.
fn edges() -> (Vec<(u32, u32, f32)>, Vec<u16>) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut edges: Vec<_> = (0..150)
        .map(|_| (rng.random_range(0..36), rng.random_range(0..30), rng.random_range(0.1..2.0)))
        .collect();
    edges.extend([(3, 3, 0.5), (12, 12, 1.0), (12, 12, 2.0), (7, 20, 0.5), (7, 20, 0.5)]);
    let types = (0..edges.len()).map(|i| i as u16 % TYPES).collect();
    (edges, types)
}

/// A change of one element of the flat parameters.
#[derive(Clone, Copy)]
struct Nudge {
    index: usize,
    by: f64,
}

/// Runs the layer on all ranks. The features go through a linear map first, so that the gradient of the layer's input is also
/// compared. `nudge` changes the parameters.
fn run<L: Conv>(
    graph: &TestGraph,
    make: &(impl Fn(&mut ParameterBuilder, i64, i64) -> Result<L> + Sync),
    nudge: Option<Nudge>,
) -> Result<Outcome> {
    let ranks = graph.boundaries.len() - 1;
    let parts = on_ranks(ranks, 1, |context| run_rank(&context, graph, make, nudge))?;
    let mut whole = Outcome { output: vec![], loss: 0.0, gradient: vec![] };
    for part in parts {
        whole.output.extend(part.output);
        whole.loss += part.loss;
        whole.gradient.resize(part.gradient.len(), 0.0);
        for (sum, g) in whole.gradient.iter_mut().zip(part.gradient) {
            *sum += g;
        }
    }
    Ok(whole)
}

fn run_rank<L: Conv>(
    context: &RankContext,
    graph: &TestGraph,
    make: &(impl Fn(&mut ParameterBuilder, i64, i64) -> Result<L> + Sync),
    nudge: Option<Nudge>,
) -> Result<Outcome> {
    let manager = &context.manager;
    let nodes = graph.nodes(context.rank);
    let full = graph.on(context)?;
    let mut builder = ParameterBuilder::new(11);
    let map = builder.add("map", &[IN_FEATS, FEATURES], Init::XavierUniform { gain: 1.0 });
    let layer = builder.scope("layer", |builder| make(builder, IN_FEATS, OUT_FEATS))?;
    let parameters = std::rc::Rc::new(builder.finish(manager, Kind::Double)?);
    // Biases of 0 would put nodes without in-edges on the kink of a ReLU.
    let mut flat: Vec<f64> = Vec::try_from(&*parameters.flat().pin()?)?;
    for (i, value) in flat.iter_mut().enumerate() {
        *value += 0.05 * (i as f64).cos();
    }
    if let Some(Nudge { index, by }) = nudge {
        flat[index] += by;
    }
    parameters.set_flat(Tensor::f_from_slice(&flat)?)?;

    let features = manager.track("features", rows(&nodes, FEATURES)?);
    let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, 3, 1);
    let features = tape.input(&features);
    let x = tape.linear(&features, &Weight::OutIn(map), None, None)?;
    drop(features);
    let y = layer.forward(&mut tape, ConvInput::new(&full, x.clone(), x))?;
    let (output, cotangent) = (crate::engine::tensor::copy(&*y.pin()?)?, rows(&nodes, y.width())?);
    let loss = output.f_mul(&cotangent)?.f_sum(Kind::Double)?.f_double_value(&[])?;
    let gradients = tape.backward(y, cotangent)?;
    let gradient = parameters.flat_gradients(&gradients)?;
    Ok(Outcome {
        output: Vec::try_from(output.f_flatten(0, -1)?)?,
        loss,
        gradient: Vec::try_from(&gradient)?,
    })
}

/// Values that depend only on the node and the column.
fn rows(nodes: &std::ops::Range<u32>, width: i64) -> Result<Tensor> {
    let value = |node: u32, column: i64| (f64::from(node) * 1.7 + column as f64 * 2.3).sin();
    let values = nodes.clone().flat_map(|v| (0..width).map(move |column| value(v, column)));
    let values: Vec<f64> = values.collect();
    Ok(Tensor::f_from_slice(&values)?.f_view([nodes.len() as i64, width])?)
}

fn compare(what: &str, ours: &Outcome, reference: &Outcome) -> Result<()> {
    let pairs = [
        ("output", &ours.output, &reference.output),
        ("gradient", &ours.gradient, &reference.gradient),
    ];
    for (name, ours, reference) in pairs {
        let scale = reference.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        let differences = ours.iter().zip(reference).map(|(a, b)| (a - b).abs());
        // A difference of NaN is not small; `f64::max` would drop it.
        let larger = |m: f64, d: f64| if d.is_nan() { f64::INFINITY } else { m.max(d) };
        let worst = differences.fold(0.0, larger);
        if ours.len() != reference.len() || worst > ROUNDING * scale {
            return Err(failed(format!("has another {name} {what}: it differs by {worst:e}")));
        }
    }
    Ok(())
}
