//! The linear map.

use tch::Tensor;

use super::parameters::Parameter;
use super::record::{Adjoint, Tape};
use super::var::{Target, Var};
use crate::error::Result;
use crate::spill::PointerTensor;

/// A weight matrix and how it is stored.
#[derive(Debug, Clone, Copy)]
pub enum Weight {
    /// `[out, in]`, as `torch.nn.Linear` keeps it: y = x Wᵀ.
    OutIn(Parameter),
    /// `[in, out]`, as DGL's `GraphConv` keeps it: y = x W.
    InOut(Parameter),
}

impl Weight {
    /// The matrix as `[in, out]`.
    fn value(self, tape: &Tape<'_>) -> Result<Tensor> {
        match self {
            Weight::OutIn(parameter) => Ok(tape.parameters().value(parameter)?.f_tr()?),
            Weight::InOut(parameter) => tape.parameters().value(parameter),
        }
    }
}

impl Tape<'_> {
    /// y = x W (+ bias) (+ `onto`). `x` is `[rows, in]`, the result and `onto` are `[rows, out]`, `bias` is `[out]`.
    ///
    /// `onto` is written in place if the caller moves in the only handle on it.
    pub fn linear(
        &mut self,
        x: &Var,
        weight: Weight,
        bias: Option<Parameter>,
        onto: Option<Var>,
    ) -> Result<Var> {
        let onto_target = onto.as_ref().and_then(Var::target);
        let value = self.linear_forward(&*x.pin()?, weight, bias, onto)?;
        let value = self.manager().track("linear", value);
        let y = self.var(value, true);
        self.record(&y, LinearAdjoint { x: x.clone(), weight, bias, onto: onto_target });
        Ok(y)
    }

    fn linear_forward(
        &self,
        x: &Tensor,
        weight: Weight,
        bias: Option<Parameter>,
        onto: Option<Var>,
    ) -> Result<Tensor> {
        let weight = weight.value(self)?;
        let bias = bias.map(|bias| self.parameters().value(bias)).transpose()?;
        Ok(match (onto, bias) {
            (None, None) => x.f_mm(&weight)?,
            (None, Some(bias)) => bias.f_addmm(x, &weight)?,
            (Some(onto), bias) => {
                let mut sum = onto.into_tensor()?;
                if let Some(bias) = bias {
                    sum = sum.f_add_(&bias)?;
                }
                sum.f_addmm_(x, &weight)?
            }
        })
    }
}

struct LinearAdjoint {
    x: Var,
    weight: Weight,
    bias: Option<Parameter>,
    onto: Option<Target>,
}

/// dW = xᵀ gy, db = Σ gy, dx = gy Wᵀ: no product is computed again.
impl Adjoint for LinearAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let LinearAdjoint { x, weight, bias, onto } = *self;
        let gy = gradient.pin()?;
        {
            let x = x.pin()?;
            match weight {
                Weight::OutIn(w) => tape.add_parameter_grad(w, gy.f_tr()?.f_mm(&x)?)?,
                Weight::InOut(w) => tape.add_parameter_grad(w, x.f_tr()?.f_mm(&gy)?)?,
            }
        }
        if let Some(bias) = bias {
            tape.add_parameter_grad(bias, gy.f_sum_dim_intlist([0_i64].as_slice(), false, None)?)?;
        }
        if let Some(target) = x.target() {
            let gx = gy.f_mm(&weight.value(tape)?.f_tr()?)?;
            let gx = tape.manager().track("gradient", gx);
            tape.add_grad(Some(&target), gx)?;
        }
        drop(gy);
        tape.add_grad(onto.as_ref(), gradient)
    }
}
