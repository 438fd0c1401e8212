//! Your own layer and training loop, out of core: attention over edges that takes their features, validation, early stopping,
//! and states to resume from after a crash.
//!
//!     cargo run --release --example own_model -- [--part-json FILE] [--out FOLDER] [--memory-budget SIZE] [--resume]
//!
//! Without arguments it trains on the karate club, with the weights of the edges as their features.

use std::rc::Rc;

use sar::engine::spill::PointerTensor;
use sar::engine::tape::{
    Graph, GraphShardManager, Init, Parameter, ParameterBuilder, Policy, Propagation, Reduce, Tape,
    Var, Weight,
};
use sar::event::Event;
use sar::load::EdgeData;
use sar::nn::{Loss, Optimizer, OptimizerConfig, Task};
use sar::run::job::{RestoredState, SavedState};
use sar::run::{Job, Rank, launch};
use sar::{Error, Result};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

const EPOCHS: u32 = 60;
const PATIENCE: u32 = 10;
const HIDDEN: i64 = 16;
const SEED: u64 = 0;

/// Attention whose scores see both ends of an edge and its features:
/// `y_v = sum over u -> v of softmax_v(leaky_relu(x_u S + x_v D + e E)) x_u W`.
struct EdgeAttention {
    weight: Parameter,
    source: Parameter,
    destination: Parameter,
    edge: Parameter,
}

impl EdgeAttention {
    fn new(parameters: &mut ParameterBuilder, input: i64, output: i64, edge: i64) -> Self {
        let init = Init::XavierUniform { gain: 1.0 };
        EdgeAttention {
            weight: parameters.add("weight", &[input, output], init),
            source: parameters.add("source", &[output, 1], init),
            destination: parameters.add("destination", &[output, 1], init),
            edge: parameters.add("edge", &[edge, 1], init),
        }
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: &Var,
        edges: &Var,
    ) -> Result<Var> {
        let z = tape.linear(x, &Weight::InOut(self.weight), None, None)?;
        let scores = Propagation {
            src: z.clone(),
            dst: z.clone(),
            edge: Some(edges.clone()),
            parameters: &[self.source, self.destination, self.edge],
        };
        let scores = tape.apply_edges(graph, scores, |edges| {
            let [source, destination, edge] = edges.parameters else { unreachable!() };
            let sum = edges.src.f_mm(source)?.f_add(&edges.dst.f_mm(destination)?)?;
            let sum = sum.f_add(&edges.edge.f_mm(edge)?)?;
            Ok(sum.f_maximum(&sum.f_mul_scalar(0.2)?)?)
        })?;
        let attention = tape.edge_softmax(graph, &scores)?;
        let messages =
            Propagation { src: z.clone(), dst: z, edge: Some(attention), parameters: &[] };
        tape.propagate(graph, messages, Reduce::Sum, |edges| Ok(edges.src.f_mul(edges.edge)?))
    }
}

/// Two layers.
struct Model {
    layers: [EdgeAttention; 2],
}

impl Model {
    fn new(parameters: &mut ParameterBuilder, input: i64, classes: i64, edge: i64) -> Self {
        let first = parameters.scope("0", |p| EdgeAttention::new(p, input, HIDDEN, edge));
        let second = parameters.scope("1", |p| EdgeAttention::new(p, HIDDEN, classes, edge));
        Model { layers: [first, second] }
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: &Var,
        edges: &Var,
    ) -> Result<Var> {
        tape.enter_layer(0);
        let x = self.layers[0].forward(tape, graph, x, edges)?;
        let x = tape.relu(x)?;
        tape.enter_layer(1);
        self.layers[1].forward(tape, graph, &x, edges)
    }
}

/// One rank's data.
struct Data {
    graph: GraphShardManager,
    features: PointerTensor,
    edges: PointerTensor,
    labels: PointerTensor,
    training: PointerTensor,
    validation: PointerTensor,
}

impl Data {
    fn new(rank: &Rank<'_>) -> Result<Self> {
        let graph = rank.graph(EdgeData { ids: true, ..EdgeData::default() })?;
        let edges = rank.edge_features(&graph, "weight")?;
        Ok(Data {
            graph,
            features: rank.features(None)?,
            edges,
            labels: rank.labels(None)?,
            training: rank.mask("train_mask")?,
            validation: rank.mask("val_mask")?,
        })
    }

    fn forward<'a>(&'a self, tape: &mut Tape<'a>, model: &Model) -> Result<Var> {
        let (x, edges) = (tape.input(&self.features), tape.input(&self.edges));
        model.forward(tape, &self.graph, &x, &edges)
    }
}

/// The work of one rank; returns the classes of its nodes.
fn train(rank: &Rank<'_>) -> Result<Vec<i64>> {
    let manager = rank.manager();
    let data = Data::new(rank)?;
    let largest = data.labels.pin()?.f_max()?.f_double_value(&[])?;
    let classes = rank.max(&[largest])?[0] as i64 + 1;
    let nodes = [count(&*data.training.pin()?)?, count(&*data.validation.pin()?)?];
    let nodes = rank.sum(&nodes)?;

    let mut builder = ParameterBuilder::new(SEED);
    let model = Model::new(&mut builder, data.features.size()[1], classes, data.edges.size()[1]);
    let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
    let adam = OptimizerConfig::Adam { lr: 0.01, weight_decay: 0.0 };
    let mut optimizer = Optimizer::new(adam, manager)?;
    rank.sync_params(&parameters)?;

    let mut epoch = 0;
    let mut best = Best { epoch: 0, accuracy: 0.0 };
    if let Some(RestoredState { epoch: last, text }) = rank.restore(&parameters, &mut optimizer)? {
        epoch = last;
        best = serde_json::from_str(&text).map_err(|e| Error::internal(e.to_string()))?;
    }
    let loss = Loss::new(Task::Classification);
    while epoch < EPOCHS && epoch - best.epoch < PATIENCE {
        epoch += 1;
        let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, SEED, epoch);
        let logits = data.forward(&mut tape, &model)?;
        let (numbers, gradient) = {
            let (values, labels) = (logits.pin()?, data.labels.pin()?);
            let training = data.training.pin()?;
            let (loss, gradient) = loss.forward(&values, &labels, &training, nodes[0])?;
            let hits = values.f_argmax(1, false)?.f_eq_tensor(&labels)?;
            let hits = count(&hits.f_logical_and(&*data.validation.pin()?)?)?;
            ([loss, hits], gradient)
        };
        let gradients = tape.backward(logits, gradient)?;
        let sums = rank.gather_grads(&parameters, gradients, &numbers)?;
        optimizer.step(&parameters, sums.gradient)?;
        let (loss, accuracy) = (sums.numbers[0], sums.numbers[1] / nodes[1]);
        if accuracy > best.accuracy {
            best = Best { epoch, accuracy };
        }
        rank.end_epoch(epoch, &[("loss", loss), ("val_acc", accuracy)])?;
        if epoch % 5 == 0 && rank.saves() {
            let text = serde_json::to_string(&best).map_err(|e| Error::internal(e.to_string()))?;
            let (parameters, optimizer) = (&*parameters, &optimizer);
            rank.save(&SavedState { epoch, parameters, optimizer, text: &text })?;
        }
    }

    let mut tape = Tape::evaluation(manager, &parameters);
    let logits = data.forward(&mut tape, &model)?;
    let classes = logits.pin()?.f_argmax(1, false)?;
    Ok(Vec::try_from(classes)?)
}

/// The best epoch so far, by validation accuracy.
#[derive(Serialize, Deserialize)]
struct Best {
    epoch: u32,
    accuracy: f64,
}

fn count(mask: &Tensor) -> Result<f64> {
    Ok(mask.f_sum(Kind::Double)?.f_double_value(&[])?)
}

fn main() -> Result<()> {
    let mut job = Job::new("data/karate/karate.json");
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--resume" => job.resume = true,
            "--part-json" => job.part_json = arguments.next().unwrap_or_default().into(),
            "--out" => job.out = arguments.next().map(Into::into),
            "--memory-budget" => {
                let budget = arguments.next().unwrap_or_default();
                job.resources.memory_budget = budget.parse()?;
            }
            other => return Err(Error::config(other, "is not an argument of this example")),
        }
    }
    let classes = launch(&job, &mut report, train)?;
    for (rank, classes) in classes.iter().enumerate() {
        println!(
            "rank {rank}: {} nodes, classes {:?}",
            classes.len(),
            &classes[..classes.len().min(10)]
        );
    }
    Ok(())
}

fn report(event: &Event) {
    match event {
        Event::Log(log) => {
            println!("epoch {}: {:?}, {} turns", log.epoch, log.values, log.lock_turns);
        }
        Event::Note(text) => println!("note: {text}"),
        _ => {}
    }
}
