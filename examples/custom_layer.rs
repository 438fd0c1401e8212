//! A user-defined layer: gated messages, `y_v = sum over u -> v of sigmoid(x_u G) ∘ (x_u W)`, and the check that it is a
//! correct layer.
//!
//!     cargo run --release --example custom_layer

use sar::Result;
use sar::engine::tape::{Init, Parameter, ParameterBuilder, Propagation, Reduce, Tape, Var};
use sar::nn::{Conv, ConvInput};
use sar::testing::check_layer;

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

fn main() -> Result<()> {
    check_layer(|parameters, in_feats, out_feats| {
        Ok(GatedConv::new(parameters, in_feats, out_feats))
    })?;
    println!("the same numbers for any order of edges and any partitioning; gradients are right");
    Ok(())
}
