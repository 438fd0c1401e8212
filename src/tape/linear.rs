//! The linear map.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::parameters::Parameter;
use super::record::{Adjoint, Tape};
use super::segment::Code;
use super::segment_grad::SegmentGrad;
use super::var::{Target, Var};
use crate::error::Result;
use crate::spill::PointerTensor;
use crate::tensor::{self, Shared, map_row_blocks};

/// A weight matrix and how it is stored.
#[derive(Clone)]
pub enum Weight {
    /// `[out, in]`, as `torch.nn.Linear` keeps it: y = x Wᵀ.
    OutIn(Parameter),
    /// `[in, out]`, as DGL's `GraphConv` keeps it: y = x W.
    InOut(Parameter),
    /// `[in, out]`, computed from parameters.
    Derived(Rc<DerivedWeight>),
}

/// A matrix that is a function of parameters, such as a sum of bases.
pub struct DerivedWeight {
    parameters: Vec<Parameter>,
    code: Box<Code>,
}

impl DerivedWeight {
    /// `code` gets the parameters' values and gives the matrix, `[in, out]`.
    pub fn new(
        parameters: Vec<Parameter>,
        code: impl Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Self {
        DerivedWeight { parameters, code: Box::new(move |_, parameters| code(parameters)) }
    }

    fn values(&self, tape: &Tape<'_>) -> Result<Vec<Tensor>> {
        self.parameters.iter().map(|p| tape.parameters().value(*p)).collect()
    }
}

impl Weight {
    /// The matrix as `[in, out]`.
    fn value(&self, tape: &Tape<'_>) -> Result<Tensor> {
        match self {
            Weight::OutIn(parameter) => Ok(tape.parameters().value(*parameter)?.f_tr()?),
            Weight::InOut(parameter) => tape.parameters().value(*parameter),
            Weight::Derived(derived) => (derived.code)(&[], &derived.values(tape)?),
        }
    }

    /// Passes the gradient of the matrix on, from x and gy.
    fn add_grad(&self, tape: &mut Tape<'_>, x: &Tensor, gy: &Tensor) -> Result<()> {
        match self {
            Weight::OutIn(parameter) => {
                let gradient = product_over_rows(gy, x)?;
                tape.add_parameter_grad(*parameter, gradient)
            }
            Weight::InOut(parameter) => {
                let gradient = product_over_rows(x, gy)?;
                tape.add_parameter_grad(*parameter, gradient)
            }
            Weight::Derived(derived) => {
                let gradient = product_over_rows(x, gy)?;
                let run = SegmentGrad::run(&*derived.code, vec![], &[], derived.values(tape)?)?;
                let (_, gradients) = run.vjp(&gradient)?;
                for (parameter, gradient) in derived.parameters.iter().zip(gradients) {
                    if let Some(gradient) = gradient {
                        tape.add_parameter_grad(*parameter, gradient)?;
                    }
                }
                Ok(())
            }
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
        weight: &Weight,
        bias: Option<Parameter>,
        onto: Option<Var>,
    ) -> Result<Var> {
        let onto_target = onto.as_ref().and_then(Var::target);
        let value = self.linear_forward(&*x.pin()?, weight, bias, onto)?;
        let value = self.manager().track("linear", value);
        let y = self.var(value, true);
        self.record(
            &y,
            LinearAdjoint { x: x.clone(), weight: weight.clone(), bias, onto: onto_target },
        );
        Ok(y)
    }

    fn linear_forward(
        &self,
        x: &Tensor,
        weight: &Weight,
        bias: Option<Parameter>,
        onto: Option<Var>,
    ) -> Result<Tensor> {
        let weight = weight.value(self)?;
        let bias = bias.map(|bias| self.parameters().value(bias)).transpose()?;
        let (rows, in_place) = (x.size()[0], onto.is_some());
        let y = match onto {
            Some(onto) => onto.into_tensor()?,
            None => tensor::empty(&[rows, weight.size()[1]], x.kind())?,
        };
        {
            let (x, weight, y) = (Shared(x), Shared(&weight), Shared(&y));
            let bias = bias.as_ref().map(Shared);
            map_row_blocks(rows, |start, len| {
                let (x, weight) = (x.rows(start, len)?, weight.whole());
                let mut y = y.rows(start, len)?;
                let _written = match (in_place, bias) {
                    (false, None) => x.f_mm_out(&y, &weight)?,
                    (false, Some(bias)) => bias.whole().f_addmm_out(&y, &x, &weight)?,
                    (true, None) => y.f_addmm_(&x, &weight)?,
                    (true, Some(bias)) => y.f_add_(&bias.whole())?.f_addmm_(&x, &weight)?,
                };
                Ok(())
            })?;
        }
        Ok(y)
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
        weight.add_grad(tape, &*x.pin()?, &gy)?;
        if let Some(bias) = bias {
            tape.add_parameter_grad(bias, column_sums(&gy)?)?;
        }
        if let Some(target) = x.target() {
            let gx = input_gradient(&gy, &weight.value(tape)?.f_tr()?)?;
            let gx = tape.manager().track("gradient", gx);
            tape.add_grad(Some(&target), gx)?;
        }
        drop(gy);
        tape.add_grad(onto.as_ref(), gradient)
    }
}

/// aᵀ b.
fn product_over_rows(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (rows, kind) = (a.size()[0], a.kind());
    let shape = [a.size()[1], b.size()[1]];
    let (a, b) = (Shared(a), Shared(b));
    let parts = map_row_blocks(rows, |start, len| {
        Ok(a.rows(start, len)?.f_tr()?.f_mm(&b.rows(start, len)?)?)
    });
    total(parts?, &shape, kind)
}

fn input_gradient(gy: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let rows = gy.size()[0];
    let gx = tensor::empty(&[rows, weight.size()[1]], gy.kind())?;
    {
        let (gy, weight, gx) = (Shared(gy), Shared(weight), Shared(&gx));
        map_row_blocks(rows, |start, len| {
            let gx = gx.rows(start, len)?;
            let _written = gy.rows(start, len)?.f_mm_out(&gx, &weight.whole())?;
            Ok(())
        })?;
    }
    Ok(gx)
}

/// The gradient of a bias: the sum over rows.
pub(super) fn column_sums(gy: &Tensor) -> Result<Tensor> {
    let [rows, columns] = [gy.size()[0], gy.size()[1]];
    let kind = gy.kind();
    let gy = Shared(gy);
    let parts = map_row_blocks(rows, |start, len| {
        Ok(gy.rows(start, len)?.f_sum_dim_intlist([0_i64].as_slice(), false, None)?)
    });
    total(parts?, &[columns], kind)
}

/// The sum of the blocks' parts, in their order.
fn total(parts: Vec<Tensor>, shape: &[i64], kind: Kind) -> Result<Tensor> {
    let mut total = tensor::zeros(shape, kind)?;
    for part in parts {
        total = total.f_add_(&part)?;
    }
    Ok(total)
}
