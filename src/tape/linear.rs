//! The linear map.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::parameters::Parameter;
use super::record::{Adjoint, Tape};
use super::segment::Code;
use super::segment_grad::SegmentGrad;
use super::var::{Target, Var};
use crate::error::Result;
use crate::kernels::{Matrix, matmul, matmul_over_rows};
use crate::spill::PointerTensor;
use crate::tensor::{self, Shared, map_row_blocks, with_real};

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
        let value = self.manager().track_rows("linear", value);
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
        let add = onto.is_some();
        let mut y = match onto {
            Some(onto) => onto.into_tensor()?,
            None => tensor::empty(&[x.size()[0], weight.size()[1]], x.kind())?,
        };
        product(x, &weight, bias.as_ref(), &mut y, add)?;
        Ok(y)
    }
}

/// `y = x weight + bias`, or `y += x weight + bias`.
fn product(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    y: &mut Tensor,
    add: bool,
) -> Result<()> {
    let weight = weight.f_contiguous()?;
    let [rows, columns] = [0, 1].map(|side| weight.size()[side] as usize);
    with_real!(x.kind(), T => {
        let weight = Matrix::new(tensor::slice::<T>(&weight), rows, columns);
        let bias = bias.map(tensor::slice::<T>);
        matmul(tensor::slice::<T>(x), weight, bias, tensor::slice_mut::<T>(y), add);
        Ok(())
    })
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
            let gx = tape.manager().track_rows("gradient", gx);
            tape.add_grad(Some(&target), gx)?;
        }
        drop(gy);
        tape.add_grad(onto.as_ref(), gradient)
    }
}

/// aᵀ b.
fn product_over_rows(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (m, n) = (a.size()[1], b.size()[1]);
    with_real!(a.kind(), T => {
        let (a, b) = (tensor::slice::<T>(a), tensor::slice::<T>(b));
        let product = matmul_over_rows(a, b, m as usize, n as usize);
        Ok(Tensor::f_from_slice(&product)?.f_view([m, n])?)
    })
}

fn input_gradient(gy: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let mut gx = tensor::empty(&[gy.size()[0], weight.size()[1]], gy.kind())?;
    product(gy, weight, None, &mut gx, false)?;
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
pub(super) fn total(parts: Vec<Tensor>, shape: &[i64], kind: Kind) -> Result<Tensor> {
    let mut total = tensor::zeros(shape, kind)?;
    for part in parts {
        total = total.f_add_(&part)?;
    }
    Ok(total)
}
