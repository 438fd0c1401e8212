//! The linear layer, and perceptrons made of it.

use crate::engine::tape::{Init, Parameter, ParameterBuilder, Tape, Var, Weight};
use crate::words::error::Result;

/// A function from rows to rows that a layer can contain.
pub trait Network {
    /// Maps `[rows, in]` to `[rows, out]`.
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    fn forward(&self, tape: &mut Tape<'_>, x: Var) -> Result<Var>;
}

/// `torch.nn.Linear`: `y = x Wᵀ + b`. State-dict keys: `weight` `[out, in]`, `bias` `[out]`.
///
/// ```
/// use sar::nn::{Linear, Network};
/// use sar::testing::{TestGraph, assert_near, rows_output};
///
/// // Two nodes without edges.
/// let graph = TestGraph::of(2, &[], &[]);
/// let features: [&[f64]; 2] = [&[1.0, 2.0], &[3.0, 4.0]];
/// let values: [(&str, &[f64]); 2] = [("weight", &[10.0, 1.0]), ("bias", &[0.5])];
/// let make = |p: &mut _| Linear::new(p, 2, 1);
/// let rows = rows_output(&graph, &features, &values, make, |linear, tape, _, x| linear.forward(tape, x))?;
/// assert_near(&rows, &[12.5, 34.5]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Linear {
    weight: Weight,
    bias: Parameter,
}

impl Linear {
    /// Creates the layer with PyTorch's initial distributions: uniform in ±1/√in.
    pub fn new(parameters: &mut ParameterBuilder, in_feats: i64, out_feats: i64) -> Self {
        let init = Init::linear(in_feats);
        let weight = Weight::OutIn(parameters.add("weight", &[out_feats, in_feats], init));
        Linear { weight, bias: parameters.add("bias", &[out_feats], init) }
    }

    /// Creates the layer with Glorot's initial weights for a following ReLU (Glorot and Bengio 2010) and a bias of 0;
    /// in the style of PyTorch Geometric, with the distributions of [`new`](Linear::new).
    pub fn xavier(parameters: &mut ParameterBuilder, in_feats: i64, out_feats: i64) -> Self {
        Self::glorot(parameters, 2f64.sqrt(), in_feats, out_feats)
    }

    /// Like [`xavier`](Linear::xavier), for what follows: the gain is 1 for the identity.
    pub(super) fn glorot(
        parameters: &mut ParameterBuilder,
        gain: f64,
        in_feats: i64,
        out_feats: i64,
    ) -> Self {
        let init = parameters.either(Init::XavierUniform { gain }, Init::linear(in_feats));
        let weight = Weight::OutIn(parameters.add("weight", &[out_feats, in_feats], init));
        let bias = parameters.either(Init::Zeros, Init::linear(in_feats));
        Linear { weight, bias: parameters.add("bias", &[out_feats], bias) }
    }
}

impl Network for Linear {
    fn forward(&self, tape: &mut Tape<'_>, x: Var) -> Result<Var> {
        tape.linear(&x, &self.weight, Some(self.bias), None)
    }
}

/// Linear layers with ReLU between them. State-dict keys `i.weight` and `i.bias`, where i also counts the ReLUs, as in
/// `torch.nn.Sequential(Linear, ReLU, Linear, ...)`.
///
/// ```
/// use sar::nn::{Mlp, Network};
/// use sar::testing::{TestGraph, assert_near, rows_output};
///
/// // Two nodes without edges.
/// let graph = TestGraph::of(2, &[], &[]);
/// let features: [&[f64]; 2] = [&[1.0], &[-1.0]];
/// let values: [(&str, &[f64]); 2] = [("0.weight", &[2.0, -3.0]), ("2.weight", &[1.0, 10.0])];
/// let make = |p: &mut _| Mlp::new(p, &[1, 2, 1]);
/// let rows = rows_output(&graph, &features, &values, make, |mlp, tape, _, x| mlp.forward(tape, x))?;
/// assert_near(&rows, &[2.0, 30.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Mlp(Vec<Linear>);

impl Mlp {
    /// Creates the network; `widths` lists the widths of the input, the hidden layers and the output.
    pub fn new(parameters: &mut ParameterBuilder, widths: &[i64]) -> Self {
        let layers = widths.windows(2).enumerate().map(|(i, width)| {
            let name = (2 * i).to_string();
            parameters.scope(&name, |parameters| Linear::new(parameters, width[0], width[1]))
        });
        Mlp(layers.collect())
    }
}

impl Network for Mlp {
    fn forward(&self, tape: &mut Tape<'_>, x: Var) -> Result<Var> {
        let mut x = x;
        for (i, layer) in self.0.iter().enumerate() {
            if i > 0 {
                x = tape.relu(x)?;
            }
            x = layer.forward(tape, x)?;
        }
        Ok(x)
    }
}
