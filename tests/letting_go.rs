//! The memory of a working rank: a value that its model has dropped leaves memory before the pause, which changes neither the
//! results nor the bytes that are written and read.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

use std::rc::Rc;

use sar::Result;
use sar::engine::spill::{PartitionDataManager, PointerTensor};
use sar::engine::tape::{
    Aggregation, Constants, Graph, Init, Parameter, ParameterBuilder, ParameterSet, Policy, Reduce,
    Tape, Var, Weight,
};
use sar::testing::{RankContext, TestGraph, on_ranks};
use tch::{Kind, Tensor};

const NODES: u32 = 8192;
const WIDTH: i64 = 128;
const LAYERS: usize = 4;
const PASSES: u32 = 3;

/// Size in bytes of a value on one of the two ranks.
const VALUE: u64 = NODES as u64 / 2 * WIDTH as u64 * 4;

/// The measurements of a pass.
#[derive(Debug, PartialEq)]
struct Pass {
    /// Largest size of values in memory after an operation, in bytes.
    peak: u64,
    written: u64,
    read: u64,
    gradient: Vec<f32>,
}

/// A layer without neighbours, then layers that aggregate their products, each with a term of the nodes themselves.
struct Model {
    layers: Vec<[Parameter; 2]>,
    parameters: Rc<ParameterSet>,
}

impl Model {
    fn new(manager: &Rc<PartitionDataManager>) -> Result<Self> {
        let mut builder = ParameterBuilder::new(5);
        let layers = (0..LAYERS).map(|i| {
            let columns = if i + 1 == LAYERS { 4 } else { WIDTH };
            let init = Init::XavierUniform { gain: 1.0 };
            ["own", "neigh"]
                .map(|name| builder.add(&format!("{i}.{name}"), &[WIDTH, columns], init))
        });
        let layers = layers.collect();
        Ok(Model { layers, parameters: Rc::new(builder.finish(manager, Kind::Float)?) })
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
        see: &mut dyn FnMut(),
    ) -> Result<Var> {
        let mut x = x;
        for (i, layer) in self.layers.iter().enumerate() {
            tape.enter_layer(i);
            let [own, neigh] = layer.map(Weight::InOut);
            if i == 0 {
                x = tape.linear(&x, &own, None, None)?;
            } else {
                let messages = tape.linear(&x, &neigh, None, None)?;
                see();
                let own = tape.linear(&x, &own, None, None)?;
                see();
                drop(x);
                let mean = Aggregation::new(Reduce::Mean).onto(own);
                x = tape.aggregate(graph, messages, mean)?;
            }
            see();
            if i + 1 < LAYERS {
                x = tape.relu_dropout(graph.destination_ids(), x, 0.5)?;
                see();
            }
        }
        Ok(x)
    }
}

/// Passes of a rank that keeps nothing when it waits; with `constants` they let go of values.
fn passes(
    context: &RankContext,
    graph: &TestGraph,
    constants: Option<&Constants>,
) -> Result<Vec<Pass>> {
    let manager = &context.manager;
    let graph = graph.on(context)?;
    let model = Model::new(manager)?;
    let features = manager.track("features", features(context.rank));
    let totals = || manager.store().counters().totals();
    let pass = |epoch| -> Result<Pass> {
        let (before, mut peak) = (totals(), 0);
        let mut see = || peak = peak.max(manager.resident_bytes());
        let mut tape = Tape::training(manager, &model.parameters, Policy::default(), 1, epoch);
        if let Some(constants) = constants {
            tape = tape.remembering(constants);
        }
        let x = tape.constant(&features);
        let y = model.forward(&mut tape, &graph, x, &mut see)?;
        let gradient = Tensor::ones(y.size(), (Kind::Float, tch::Device::Cpu));
        let gradients = tape.backward(y, gradient)?;
        let gradient = Vec::try_from(model.parameters.flat_gradients(&gradients)?)?;
        drop(gradients);
        manager.pause()?;
        let io = totals() - before;
        Ok(Pass { peak, written: io.written, read: io.read, gradient })
    };
    (1..=PASSES).map(pass).collect()
}

/// Makes a rank pause without a collective.
trait Pause {
    fn pause(&self) -> Result<()>;
}

impl Pause for PartitionDataManager {
    fn pause(&self) -> Result<()> {
        self.precall_func()?;
        self.callback_func()
    }
}

fn features(rank: usize) -> Tensor {
    let rows = i64::from(NODES / 2);
    let numbers = Tensor::arange(rows * WIDTH, (Kind::Float, tch::Device::Cpu));
    (numbers * 1e-3 + rank as f64).sin().view([rows, WIDTH])
}

fn graph() -> TestGraph {
    let edge = |i: u32| (i.wrapping_mul(2_654_435_761) % NODES, i % NODES, 1.0);
    TestGraph {
        edges: (0..2 * NODES).map(edge).collect(),
        types: vec![],
        boundaries: vec![0, NODES / 2, NODES],
    }
}

#[test]
fn a_rank_that_keeps_nothing_holds_three_values_and_moves_no_more_bytes() {
    let graph = graph();
    let ranks = |lets_go: bool| {
        on_ranks(2, 1, |context| {
            let constants = lets_go.then(Constants::default);
            passes(&context, &graph, constants.as_ref())
        })
    };
    let (lean, plain) = (ranks(true).unwrap(), ranks(false).unwrap());
    for (lean, plain) in lean.iter().flatten().zip(plain.iter().flatten()) {
        // Shards, lists of rows and parameters are small.
        assert!(lean.peak < 3 * VALUE + VALUE / 2, "{} bytes", lean.peak);
        assert!(plain.peak > 4 * VALUE, "{} bytes: the bound shows nothing", plain.peak);
        assert!(lean.gradient.iter().any(|g| *g != 0.0));
        assert_eq!(lean.gradient, plain.gradient);
        assert_eq!((lean.written, lean.read), (plain.written, plain.read));
    }
}

/// In the first pass, values that only an adjoint needs are let go of until its end; later passes know that the backward pass
/// follows the last pause.
#[test]
fn what_the_backward_pass_needs_next_stays() {
    let graph = graph();
    let read = on_ranks(2, 1, |context| {
        let manager = &context.manager;
        let graph = graph.on(&context)?;
        let mut builder = ParameterBuilder::new(5);
        let weight = builder.add("weight", &[WIDTH, WIDTH], Init::XavierUniform { gain: 1.0 });
        let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
        let features = manager.track("features", features(context.rank));
        let constants = Constants::default();
        let pass = |epoch| -> Result<bool> {
            let tape = Tape::training(manager, &parameters, Policy::default(), 1, epoch);
            let mut tape = tape.remembering(&constants);
            let x = tape.trainable_input(&features);
            let sum = tape.aggregate(&graph, x, Aggregation::new(Reduce::Sum))?;
            let value: PointerTensor = sum.value();
            let y = tape.linear(&sum, &Weight::InOut(weight), None, None)?;
            drop(sum);
            let stayed = value.is_resident();
            let gradient = Tensor::ones(y.size(), (Kind::Float, tch::Device::Cpu));
            tape.backward(y, gradient)?;
            Ok(stayed)
        };
        (1..=PASSES).map(pass).collect::<Result<Vec<_>>>()
    });
    assert_eq!(read.unwrap(), [[false, true, true], [false, true, true]]);
}

#[test]
fn relu_overwrites_its_input_only_where_it_is_the_only_user() {
    let values = on_ranks(1, 1, |context| {
        let manager = &context.manager;
        let parameters = Rc::new(ParameterBuilder::new(0).finish(manager, Kind::Float)?);
        let mut tape = Tape::evaluation(manager, &parameters);
        let x = || Tensor::from_slice(&[-1.0_f32, 2.0]).view([1, 2]);
        let (kept, spare) = (manager.track("x", x()), tape.input(&manager.track("x", x())));
        let other = tape.input(&kept);
        let place = spare.pin()?.data_ptr();
        let (spare, other) = (tape.relu(spare)?, tape.relu(other)?);
        assert_eq!(spare.pin()?.data_ptr(), place);
        let values = [spare.value(), other.value(), kept];
        let numbers = |value: &PointerTensor| Ok(Vec::<f32>::try_from(value.pin()?.flatten(0, 1))?);
        values.iter().map(numbers).collect::<Result<Vec<_>>>()
    });
    assert_eq!(values.unwrap(), [[[0.0, 2.0], [0.0, 2.0], [-1.0, 2.0]]]);
}
