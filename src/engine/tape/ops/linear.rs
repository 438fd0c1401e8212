//! The linear map.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::dense::{column_sums, dense_product, is_narrow, product_over_rows, square_product};
use super::entries::entries_product;
use super::segment_grad::{Code, SegmentGrad};
use crate::engine::spill::{ComputeDtype, Pinned, PointerTensor};
use crate::engine::tape::parameters::Parameter;
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Saved, Target, Var};
use crate::engine::tensor;
use crate::words::error::{Error, Result};

/// A weight matrix, and how it is stored.
#[derive(Clone)]
pub enum Weight {
    /// `[out, in]`, as in `torch.nn.Linear`: y = x Wᵀ.
    OutIn(Parameter),
    /// `[in, out]`, as in DGL's `GraphConv`: y = x W.
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
    /// `code` takes the parameters' values and returns the matrix, `[in, out]`.
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

    /// Adds the gradients of the parameters, from x and gy.
    fn add_grad(&self, tape: &mut Tape<'_>, x: &PointerTensor, gy: &Tensor) -> Result<()> {
        let gradient = match (x.entries(), self) {
            (Some(entries), Weight::OutIn(_)) => {
                entries_product(&*entries.by_src()?, gy, None, None)?.f_tr()?.f_contiguous()?
            }
            (Some(entries), _) => entries_product(&*entries.by_src()?, gy, None, None)?,
            (None, Weight::OutIn(_)) => product_over_rows(gy, &*tape.factor(x)?)?,
            (None, _) => product_over_rows(&*tape.factor(x)?, gy)?,
        };
        match self {
            Weight::OutIn(parameter) | Weight::InOut(parameter) => {
                tape.add_parameter_grad(*parameter, gradient)
            }
            Weight::Derived(derived) => {
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
    /// `onto` is written in place if it is moved in as the only handle to its value.
    ///
    /// # Errors
    /// If `x`, the weight and `onto` do not fit one another, libtorch refuses an operation (`Tensor`), or a value cannot be
    /// read back (`Io`, `Corrupt`).
    pub fn linear(
        &mut self,
        x: &Var,
        weight: &Weight,
        bias: Option<Parameter>,
        onto: Option<Var>,
    ) -> Result<Var> {
        let _span = self.span("linear");
        let onto_target = onto.as_ref().and_then(Var::target);
        let value = self.linear_forward(x, weight, bias, onto)?;
        let value = self.manager().track_rows("linear", value)?;
        let y = self.var(value, true);
        self.record(
            &y,
            LinearAdjoint { x: x.saved(), weight: weight.clone(), bias, onto: onto_target },
        );
        Ok(y)
    }

    fn linear_forward(
        &self,
        x: &Var,
        weight: &Weight,
        bias: Option<Parameter>,
        onto: Option<Var>,
    ) -> Result<Tensor> {
        let weight = weight.value(self)?;
        check_factors(x, &weight, onto.as_ref())?;
        let bias = bias.map(|bias| self.parameters().value(bias)).transpose()?;
        let x = x.value();
        if let Some(entries) = x.entries() {
            let onto = onto.map(|onto| onto.into_tensor(false)).transpose()?;
            return entries_product(&*entries.by_dst()?, &weight, bias.as_ref(), onto);
        }
        let x = self.factor(&x)?;
        let onto = onto.map(|onto| onto.into_tensor(is_narrow(&x)));
        self.product(&x, &weight, bias.as_ref(), onto.transpose()?)
    }

    /// A factor of a product, in the type of layers' computations.
    fn factor(&self, value: &PointerTensor) -> Result<Pinned<Tensor>> {
        match self.manager().compute_dtype.get() {
            ComputeDtype::F32 => value.pin(),
            ComputeDtype::Bf16 => value.pin_held(),
        }
    }

    /// `x weight + bias`, added to `onto` in place if there is one.
    fn product(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        onto: Option<Tensor>,
    ) -> Result<Tensor> {
        let add = onto.is_some();
        let mut y = if let Some(onto) = onto {
            onto
        } else {
            let (columns, kind) = (weight.size()[1], weight.kind());
            let held = if is_narrow(x) { self.manager().held_kind(columns, kind) } else { kind };
            tensor::empty(&[x.size()[0], columns], held)?
        };
        dense_product(x, weight, bias, &mut y, add)?;
        Ok(y)
    }
}

/// Checks that x, W and the matrix that their product is added to fit one another.
fn check_factors(x: &Var, weight: &Tensor, onto: Option<&Var>) -> Result<()> {
    x.check_matrix()?;
    let (size, kind, [rows, columns]) = (x.size(), x.kind(), [0, 1].map(|i| weight.size()[i]));
    // Entries take part in sums in the type of the weight.
    let same_kind = match (kind, weight.kind()) {
        (Kind::BFloat16, Kind::Float) => true,
        (own, other) => own == other || x.value().entries().is_some(),
    };
    if size[1] != rows || !same_kind {
        let weight = format!("{:?} [{rows}, {columns}]", weight.kind());
        let problem = format!("x is {kind:?} {size:?}, which does not fit the weight, {weight}");
        return Err(Error::config("linear", problem));
    }
    match onto.map(Var::size) {
        Some(onto) if onto != [size[0], columns] => {
            let problem = format!("its result is {:?}, but `onto` is {onto:?}", [size[0], columns]);
            Err(Error::config("linear", problem))
        }
        _ => Ok(()),
    }
}

struct LinearAdjoint {
    x: Saved,
    weight: Weight,
    bias: Option<Parameter>,
    onto: Option<Target>,
}

/// dW = xᵀ gy, db = Σ gy, dx = gy Wᵀ; no product is recomputed.
impl Adjoint for LinearAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let LinearAdjoint { x: Saved { value: x, target }, weight, bias, onto } = *self;
        let gy = tape.factor(&gradient)?;
        weight.add_grad(tape, &x, &gy)?;
        drop(x);
        if let Some(bias) = bias {
            tape.add_parameter_grad(bias, column_sums(&gy)?)?;
        }
        let Some(target) = target else {
            drop(gy);
            return tape.add_grad(onto.as_ref(), gradient);
        };
        let weight = weight.value(tape)?.f_tr()?;
        let (others, narrow) = (tape.take_grad(&target), is_narrow(&gy));
        let spare = others.is_none() && onto.is_none() && gradient.is_unique();
        let gx = if spare && weight.size()[0] == weight.size()[1] {
            drop(gy);
            let mut gx = gradient.into_tensor(narrow)?;
            square_product(&mut gx, &weight)?;
            gx
        } else {
            let others = others.map(|sum| sum.into_tensor(narrow)).transpose()?;
            let gx = tape.product(&gy, &weight, None, others)?;
            drop(gy);
            tape.add_grad(onto.as_ref(), gradient)?;
            gx
        };
        tape.add_new_grad(Some(&target), gx)
    }
}
