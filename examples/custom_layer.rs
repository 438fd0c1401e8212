//! A user-defined layer: gated messages, `y_v = sum over u -> v of sigmoid(x_u G) ∘ (x_u W)`, and the check that it is a
//! correct layer.
//!
//!     cargo run --release --example custom_layer

use std::rc::Rc;

use sar::Result;
use sar::engine::tape::{
    Init, Parameter, ParameterBuilder, Policy, Propagation, Reduce, Tape, Var,
};
use sar::load::EdgeData;
use sar::nn::{Conv, ConvInput, Loss, Task};
use sar::run::{Job, Rank, launch};
use tch::Kind;

struct GatedConv {
    gate: Parameter,
    weight: Parameter,
}

impl GatedConv {
    fn new(parameters: &mut ParameterBuilder, in_feats: i64, out_feats: i64) -> Self {
        let init = Init::XavierUniform { gain: 1.0 };
        let gate = parameters.add("gate", &[in_feats, out_feats], init);
        GatedConv { gate, weight: parameters.add("weight", &[in_feats, out_feats], init) }
    }
}

impl Conv for GatedConv {
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let parameters = &[self.gate, self.weight];
        let inputs = Propagation { src, dst, edge: None, parameters };
        tape.propagate(graph, inputs, Reduce::Sum, |edges| {
            let gate = edges.src.f_mm(&edges.parameters[0])?.f_sigmoid()?;
            Ok(edges.src.f_mm(&edges.parameters[1])?.f_mul(&gate)?)
        })
    }
}

/// One rank: the loss of a step on the karate club, whose labels are learned from its features.
fn step(rank: &Rank<'_>) -> Result<f64> {
    let graph = rank.graph(EdgeData::default())?;
    let (features, labels, mask) =
        (rank.features(None)?, rank.labels(None)?, rank.mask("train_mask")?);
    let mut builder = ParameterBuilder::new(0);
    let layer = GatedConv::new(&mut builder, features.size()[1], 2);
    let parameters = Rc::new(builder.finish(rank.manager(), Kind::Float)?);
    let mut tape = Tape::training(rank.manager(), &parameters, Policy::Rematerialise, 0, 1);
    let x = tape.input(&features);
    let logits = layer.forward(&mut tape, ConvInput::new(&graph, x.clone(), x))?;
    let (loss, gradient) = {
        let (logits, labels) = (logits.pin()?, labels.pin()?);
        Loss::new(Task::Classification).forward(&logits, &labels, &*mask.pin()?, 1.0)?
    };
    let gradients = tape.backward(logits, gradient)?;
    Ok(rank.gather_grads(&parameters, gradients, &[loss])?.numbers[0])
}

fn main() -> Result<()> {
    let losses = launch(&Job::new("data/karate/karate.json"), &mut |_| {}, step)?;
    println!("loss {:.4} on {} ranks", losses[0], losses.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::GatedConv;
    use sar::testing::check_layer;

    /// The same numbers for any order of edges and any partitioning, and correct gradients.
    #[test]
    fn it_is_a_layer() {
        check_layer(|parameters, in_feats, out_feats| {
            Ok(GatedConv::new(parameters, in_feats, out_feats))
        })
        .unwrap();
    }
}
