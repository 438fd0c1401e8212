//! Local segments: any row-wise torch code.

use std::rc::Rc;

use tch::Tensor;

use super::parameters::{Parameter, ParameterSet};
use super::record::{Adjoint, Tape};
use super::var::Var;
use crate::error::{Error, Result};
use crate::spill::PointerTensor;
use crate::tensor;

/// Rows that a segment is run on at a time: enough to be efficient, few enough to stay in a cache.
const BLOCK: i64 = 4096;

/// The code of a segment: from a block of rows of each input, and the parameters, to the same rows of the output.
type Code = dyn Fn(&[Tensor], &[Tensor]) -> Result<Tensor>;

/// A segment with everything it needs to run again.
struct Segment {
    inputs: Vec<Var>,
    parameter_set: Rc<ParameterSet>,
    parameters: Vec<Parameter>,
    code: Box<Code>,
}

impl Tape<'_> {
    /// Runs torch code on the rows of this partition.
    ///
    /// `code` gets blocks of rows of the inputs (`[block, width]` each) and the values of `parameters`, and gives the
    /// same rows of the output. It has to be row-wise: a row of the output depends on that row of the inputs only. It is
    /// run again when its output is needed after a pause, and once more in the backward pass, there with gradients on; so
    /// it must be a pure function.
    ///
    /// # Errors
    /// If the inputs differ in their number of rows, or the output's rows are not the block's.
    pub fn segment(
        &mut self,
        name: &str,
        inputs: &[&Var],
        parameters: &[Parameter],
        code: impl Fn(&[Tensor], &[Tensor]) -> Result<Tensor> + 'static,
    ) -> Result<Var> {
        let segment = Rc::new(Segment {
            inputs: inputs.iter().map(|v| (*v).clone()).collect(),
            parameter_set: self.parameters().clone(),
            parameters: parameters.to_vec(),
            code: Box::new(code),
        });
        let needs_grad = !parameters.is_empty() || inputs.iter().any(|v| v.needs_grad());
        if self.retains() && needs_grad {
            return self.retained(name, segment);
        }
        let value = segment.forward()?;
        let layout = (value.size(), value.kind());
        let recipe = {
            let segment = segment.clone();
            Rc::new(move || segment.forward())
        };
        let pointer = self.manager().track_recipe(name, (&layout.0, layout.1), Some(value), recipe);
        let y = self.var(pointer, needs_grad);
        self.record(&y, Rematerialised(segment));
        Ok(y)
    }

    /// The rectified linear unit, max(x, 0).
    pub fn relu(&mut self, x: &Var) -> Result<Var> {
        self.segment("relu", &[x], &[], |x, _| Ok(x[0].f_relu()?))
    }

    /// Multiplies each row by its factor, `scale[row]`.
    pub fn scale_rows(&mut self, x: &Var, scale: &PointerTensor) -> Result<Var> {
        let scale = self.input(scale);
        self.segment("scaled", &[x, &scale], &[], |v, _| Ok(v[0].f_mul(&v[1].f_unsqueeze(1)?)?))
    }

    fn retained(&mut self, name: &str, segment: Rc<Segment>) -> Result<Var> {
        let rows = segment.rows()?;
        let run = segment.run_with_grad(0, rows)?;
        let value = tensor::copy(&run.output.f_detach()?)?;
        let y = self.manager().track(name, value);
        let y = self.var(y, true);
        self.record(&y, Retained { segment, run });
        Ok(y)
    }
}

impl Segment {
    fn rows(&self) -> Result<i64> {
        let rows: Vec<i64> = self.inputs.iter().map(|v| v.size()[0]).collect();
        match rows.first() {
            Some(first) if rows.iter().all(|r| r == first) => Ok(*first),
            _ => Err(Error::Internal(format!("a segment of inputs with {rows:?} rows"))),
        }
    }

    /// The output, computed block by block without gradients.
    fn forward(&self) -> Result<Tensor> {
        let rows = self.rows()?;
        let inputs = self.inputs.iter().map(Var::pin).collect::<Result<Vec<_>>>()?;
        let parameters = self.parameter_values()?;
        let mut output: Option<Tensor> = None;
        let mut start = 0;
        loop {
            let len = BLOCK.min(rows - start);
            let block = inputs.iter().map(|x| Ok(x.f_narrow(0, start, len)?));
            let part = (self.code)(&block.collect::<Result<Vec<_>>>()?, &parameters)?;
            check_rows(&part, len)?;
            if len == rows {
                return Ok(part.f_contiguous()?);
            }
            let whole = match output.take() {
                Some(whole) => whole,
                None => tensor::empty(&[rows, part.size()[1]], part.kind())?,
            };
            whole.f_narrow(0, start, len)?.f_copy_(&part)?;
            start += len;
            if start == rows {
                return Ok(whole);
            }
            output = Some(whole);
        }
    }

    /// Runs a block with gradients on.
    fn run_with_grad(&self, start: i64, len: i64) -> Result<Run> {
        let leaf = |value: Tensor, needs_grad: bool| {
            Ok(value.f_detach()?.f_set_requires_grad(needs_grad)?)
        };
        let inputs =
            self.inputs.iter().map(|v| leaf(v.pin()?.f_narrow(0, start, len)?, v.needs_grad()));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let parameters = self.parameter_values()?.into_iter().map(|p| leaf(p, true));
        let parameters = parameters.collect::<Result<Vec<_>>>()?;
        let output = (self.code)(&inputs, &parameters)?;
        check_rows(&output, len)?;
        Ok(Run { inputs, parameters, output })
    }

    fn parameter_values(&self) -> Result<Vec<Tensor>> {
        self.parameters.iter().map(|p| self.parameter_set.value(*p)).collect()
    }
}

fn check_rows(output: &Tensor, rows: i64) -> Result<()> {
    let size = output.size();
    if size.len() == 2 && size[0] == rows {
        return Ok(());
    }
    Err(Error::Internal(format!(
        "a segment gave {size:?} for {rows} rows; it must give one row each"
    )))
}

/// Gradients, where there are any.
type Grads = Vec<Option<Tensor>>;

/// libtorch's local graph of a segment.
struct Run {
    inputs: Vec<Tensor>,
    parameters: Vec<Tensor>,
    output: Tensor,
}

impl Run {
    /// The gradients of inputs and of parameters.
    fn vjp(&self, gy: &Tensor) -> Result<(Grads, Grads)> {
        // tch's backward takes no output gradient; that of the inner product with gy is the same.
        self.output.f_mul(gy)?.f_sum(gy.kind())?.f_backward()?;
        let grad = |leaf: &Tensor| {
            let grad = leaf.requires_grad().then(|| leaf.f_grad()).transpose()?;
            Ok(grad.filter(Tensor::defined))
        };
        let inputs = self.inputs.iter().map(grad).collect::<Result<_>>()?;
        Ok((inputs, self.parameters.iter().map(grad).collect::<Result<_>>()?))
    }
}

struct Rematerialised(Rc<Segment>);

impl Adjoint for Rematerialised {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gy: PointerTensor) -> Result<()> {
        let Rematerialised(segment) = *self;
        let rows = segment.rows()?;
        let mut sums = Sums::new(&segment)?;
        {
            let gy = gy.pin()?;
            for start in (0..rows).step_by(BLOCK as usize) {
                let len = BLOCK.min(rows - start);
                let (inputs, parameters) =
                    segment.run_with_grad(start, len)?.vjp(&gy.f_narrow(0, start, len)?)?;
                sums.add(start, inputs, parameters)?;
            }
        }
        drop(gy);
        sums.hand_over(tape, &segment)
    }
}

struct Retained {
    segment: Rc<Segment>,
    run: Run,
}

impl Adjoint for Retained {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gy: PointerTensor) -> Result<()> {
        let Retained { segment, run } = *self;
        let (inputs, parameters) = run.vjp(&*gy.pin()?)?;
        drop((run, gy));
        let mut sums = Sums::new(&segment)?;
        sums.add(0, inputs, parameters)?;
        sums.hand_over(tape, &segment)
    }
}

/// Gradients put together from blocks.
struct Sums {
    inputs: Grads,
    parameters: Vec<Tensor>,
}

impl Sums {
    fn new(segment: &Segment) -> Result<Self> {
        let kind = segment.parameter_set.kind();
        let input = |v: &Var| v.needs_grad().then(|| tensor::zeros(v.size(), kind)).transpose();
        let parameter = |p: &Parameter| tensor::zeros(segment.parameter_set.shape(*p), kind);
        Ok(Sums {
            inputs: segment.inputs.iter().map(input).collect::<Result<_>>()?,
            parameters: segment.parameters.iter().map(parameter).collect::<Result<_>>()?,
        })
    }

    fn add(&mut self, start: i64, inputs: Grads, parameters: Grads) -> Result<()> {
        for (whole, part) in self.inputs.iter().zip(inputs) {
            if let (Some(whole), Some(part)) = (whole, part) {
                whole.f_narrow(0, start, part.size()[0])?.f_copy_(&part)?;
            }
        }
        for (sum, part) in self.parameters.iter_mut().zip(parameters) {
            if let Some(part) = part {
                *sum = sum.f_add_(&part)?;
            }
        }
        Ok(())
    }

    fn hand_over(self, tape: &mut Tape<'_>, segment: &Segment) -> Result<()> {
        for (var, gradient) in segment.inputs.iter().zip(self.inputs) {
            if let Some(gradient) = gradient {
                let gradient = tape.manager().track("gradient", gradient);
                tape.add_grad(var.target().as_ref(), gradient)?;
            }
        }
        for (parameter, gradient) in segment.parameters.iter().zip(self.parameters) {
            tape.add_parameter_grad(*parameter, gradient)?;
        }
        Ok(())
    }
}
