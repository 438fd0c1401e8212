//! The linear layer, and networks of them.

use crate::engine::tape::{Init, Parameter, ParameterBuilder, Tape, Var, Weight};
use crate::error::Result;

/// A map of rows that a layer applies inside.
pub trait Network {
    /// Maps `[rows, in]` to `[rows, out]`.
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    fn forward(&self, tape: &mut Tape<'_>, x: Var) -> Result<Var>;
}

/// `torch.nn.Linear`: `y = x Wᵀ + b`. State-dict keys: `weight` `[out, in]`, `bias` `[out]`.
pub struct Linear {
    weight: Weight,
    bias: Parameter,
}

impl Linear {
    /// Creates the layer with PyTorch's initial distributions: uniform in ±1/√in.
    pub fn new(parameters: &mut ParameterBuilder, in_feats: i64, out_feats: i64) -> Self {
        let init = Init::Uniform { bound: 1.0 / (in_feats.max(1) as f64).sqrt() };
        let weight = Weight::OutIn(parameters.add("weight", &[out_feats, in_feats], init));
        Linear { weight, bias: parameters.add("bias", &[out_feats], init) }
    }

    /// Creates the layer with weights for a following ReLU (Glorot and Bengio 2010) and a bias of 0.
    pub fn xavier(parameters: &mut ParameterBuilder, in_feats: i64, out_feats: i64) -> Self {
        let init = Init::XavierUniform { gain: 2f64.sqrt() };
        let weight = Weight::OutIn(parameters.add("weight", &[out_feats, in_feats], init));
        Linear { weight, bias: parameters.add("bias", &[out_feats], Init::Zeros) }
    }
}

impl Network for Linear {
    fn forward(&self, tape: &mut Tape<'_>, x: Var) -> Result<Var> {
        tape.linear(&x, &self.weight, Some(self.bias), None)
    }
}

/// Linear layers with ReLU between them. State-dict keys `i.weight` and `i.bias`, where i also counts the ReLUs, as in
/// `torch.nn.Sequential(Linear, ReLU, Linear, ...)`.
pub struct Mlp(Vec<Linear>);

impl Mlp {
    /// Creates the network; `widths` are those of the input, the hidden layers, and the output.
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
