//! Batch normalisation over the nodes of all partitions.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::dense::total;
use crate::engine::array::Elements;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tape::parameters::{Buffer, Parameter, ParameterSet};
use crate::engine::tape::record::{Begun, Computation, PausingAdjoint, Tape};
use crate::engine::tape::var::{Saved, Var};
use crate::engine::tensor;
use crate::engine::tensor::{Shared, map_row_blocks};
use crate::words::error::{Error, Result};

/// Parameters and running statistics of [`Tape::batch_norm`]; all but the count are `[width]`.
#[derive(Debug, Clone, Copy)]
pub struct BatchStatistics {
    /// Factor of the normalised columns.
    pub weight: Parameter,
    /// Bias that is added to the columns.
    pub bias: Parameter,
    /// Running mean of columns.
    pub running_mean: Buffer,
    /// Running variance of columns, unbiased.
    pub running_var: Buffer,
    /// Number of training steps so far.
    pub num_batches_tracked: Buffer,
    /// Constant that is added to the variance.
    pub eps: f64,
    /// Share of a step's statistics in the running statistics.
    pub momentum: f64,
}

impl<'a> Tape<'a> {
    /// y = (x - mean) / √(variance + eps) · weight + bias, column by column, like `torch.nn.BatchNorm1d`.
    ///
    /// In training, mean and variance are computed over all rows of all ranks, and the running statistics move towards
    /// them; one collective, and one in the backward pass. An evaluation uses the running statistics.
    ///
    /// # Errors
    /// If there are fewer than two rows in training.
    pub fn batch_norm(
        &mut self,
        graph: &'a dyn Graph,
        x: Var,
        how: BatchStatistics,
    ) -> Result<Var> {
        self.begin_batch_norm(graph, x, how)?.finish(self)
    }

    /// [`batch_norm`](Tape::batch_norm) up to its pause, so that several normalisations can [share it](Tape::join).
    ///
    /// # Errors
    /// As for [`batch_norm`](Tape::batch_norm).
    pub fn begin_batch_norm(
        &mut self,
        graph: &'a dyn Graph,
        x: Var,
        how: BatchStatistics,
    ) -> Begun<'a, Var> {
        let spans = self.spans("batch norm");
        let _span = spans();
        let kind = x.kind();
        let parameters = self.parameters();
        if !self.records() {
            let mean = parameters.buffer(how.running_mean)?;
            let variance = parameters.buffer(how.running_var)?.f_to_kind(Kind::Double)?;
            let columns = self.columns(mean, &variance, how.eps, kind)?;
            return self.normalized(&x, &columns, how).map(Computation::Complete);
        }
        let sums = column_sums_and_squares(&*x.pin()?)?;
        let rows = Tensor::f_from_slice(&[x.size()[0] as f64])?;
        let reduced = self.begin_sums(graph, vec![sums, rows])?;
        let normalised = reduced.then(self, move |tape, reduced| {
            let rows = reduced[1].f_double_value(&[0])?;
            if rows < 2.0 {
                let problem = "batch normalisation needs more than one node in training";
                return Err(Error::config("model.norm", problem));
            }
            let moments = reduced[0].f_div_scalar(rows)?;
            let mean = moments.f_select(0, 0)?;
            let variance = moments.f_select(0, 1)?.f_sub(&mean.f_square()?)?.f_clamp_min(0.0)?;
            how.remember(parameters, &mean, &variance.f_mul_scalar(rows / (rows - 1.0))?)?;
            let columns = tape.columns(mean, &variance, how.eps, kind)?;
            let y = tape.normalized(&x, &columns, how)?;
            let (x, BatchStatistics { weight, bias, .. }) = (x.saved(), how);
            tape.record(&y, BatchNormAdjoint { graph, x, columns, rows, weight, bias });
            Ok(y)
        });
        Ok(normalised?.within(spans))
    }

    /// Sums of the values of all ranks; one collective.
    fn begin_sums(&mut self, graph: &'a dyn Graph, values: Vec<Tensor>) -> Begun<'a, Vec<Tensor>> {
        let layouts = values.iter().map(Elements::array_layout).collect::<Result<Vec<_>>>()?;
        let posted = graph.post_sums(&values)?;
        if posted.is_none() {
            return Ok(Computation::Complete(values));
        }
        drop(values);
        Computation::after(self, graph, posted, move |_, collective| {
            let lost = || Error::internal("sums without a collective");
            graph.sums(&collective.ok_or_else(lost)?, &layouts)
        })
    }

    /// Mean and 1 / √(variance + eps) of each column, `[2, width]` of `kind`.
    fn columns(
        &self,
        mean: Tensor,
        variance: &Tensor,
        eps: f64,
        kind: Kind,
    ) -> Result<PointerTensor> {
        let scale = variance.f_add_scalar(eps)?.f_rsqrt()?;
        let columns = Tensor::f_stack(&[mean.f_to_kind(kind)?, scale.f_to_kind(kind)?], 0)?;
        Ok(self.manager().track("column-statistics", columns))
    }

    /// The result, which is computed again, rather than stored, when it is used after a pause.
    fn normalized(
        &mut self,
        x: &Var,
        columns: &PointerTensor,
        BatchStatistics { weight, bias, .. }: BatchStatistics,
    ) -> Result<Var> {
        let recipe = {
            let (x, columns, parameters) = (x.value(), columns.clone(), self.parameters().clone());
            Rc::new(move || {
                let (weight, bias) = (parameters.value(weight)?, parameters.value(bias)?);
                normalize(&*x.pin()?, &*columns.pin()?, &weight, &bias)
            })
        };
        let layout = (x.size().to_vec(), x.kind());
        let value = self.manager().track_recipe("normalized", &layout.0, layout.1, None, recipe);
        drop(value.pin_held()?);
        Ok(self.var(value, true))
    }
}

impl BatchStatistics {
    /// Moves the running statistics towards those of a step.
    fn remember(&self, parameters: &ParameterSet, mean: &Tensor, variance: &Tensor) -> Result<()> {
        let moved = |buffer: Buffer, new: &Tensor| -> Result<(Buffer, Tensor)> {
            let old = parameters.buffer(buffer)?.f_to_kind(Kind::Double)?;
            let old = old.f_mul_scalar(1.0 - self.momentum)?;
            Ok((buffer, old.f_add(&new.f_mul_scalar(self.momentum)?)?))
        };
        let steps = parameters.buffer(self.num_batches_tracked)?.f_add_scalar(1)?;
        parameters.set_buffers(&[
            moved(self.running_mean, mean)?,
            moved(self.running_var, variance)?,
            (self.num_batches_tracked, steps),
        ])
    }
}

struct BatchNormAdjoint<'a> {
    graph: &'a dyn Graph,
    x: Saved,
    columns: PointerTensor,
    rows: f64,
    weight: Parameter,
    bias: Parameter,
}

/// With z the normalised input and s = 1 / √(variance + eps): db = Σ gy, dw = Σ gy z, and over all ranks' rows gx = w s (gy -
/// mean(gy) - z mean(gy z)).
impl<'a> PausingAdjoint<'a> for BatchNormAdjoint<'a> {
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gradient: PointerTensor) -> Begun<'a> {
        let BatchNormAdjoint { graph, x: Saved { value: x, target }, columns, rows, weight, bias } =
            *self;
        let kind = gradient.kind();
        let sums = gradient_sums(&*gradient.pin()?, &*x.pin()?, &*columns.pin()?)?;
        let sum = |i: i64| -> Result<Tensor> {
            Ok(sums.f_select(0, i)?.f_to_kind(kind)?.f_contiguous()?)
        };
        tape.add_parameter_grad(bias, sum(0)?)?;
        tape.add_parameter_grad(weight, sum(1)?)?;
        let Some(target) = target else { return Ok(Computation::Complete(())) };
        tape.begin_sums(graph, vec![sums])?.then(tape, move |tape, mut sums| {
            let means = sums.remove(0).f_div_scalar(rows)?.f_to_kind(kind)?;
            let gx = {
                let weight = tape.parameters().value(weight)?;
                let scale = columns.pin()?.f_select(0, 1)?.f_mul(&weight)?;
                input_gradient(&*gradient.pin()?, &*x.pin()?, &*columns.pin()?, &means, &scale)?
            };
            drop((gradient, x));
            tape.add_new_grad(Some(&target), gx)
        })
    }
}

/// (x - mean) scale weight + bias.
fn normalize(x: &Tensor, columns: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let y = tensor::empty(&x.size(), x.kind())?;
    {
        let (x, y, columns) = (Shared(x), Shared(&y), Shared(columns));
        let (weight, bias) = (Shared(weight), Shared(bias));
        map_row_blocks(x.0.size()[0], |start, len| {
            let mut z = normalized_block(&x.rows(start, len)?, columns)?;
            let z = z.f_mul_(&weight.whole())?.f_add_(&bias.whole())?;
            Ok(y.rows(start, len)?.f_copy_(&z)?)
        })?;
    }
    Ok(y)
}

fn normalized_block(x: &Tensor, columns: Shared<'_>) -> Result<Tensor> {
    let columns = columns.whole();
    Ok(x.f_sub(&columns.f_select(0, 0)?)?.f_mul_(&columns.f_select(0, 1)?)?)
}

/// Sums of the columns and of their squares, `double [2, width]`.
fn column_sums_and_squares(x: &Tensor) -> Result<Tensor> {
    let shape = [2, x.size()[1]];
    let x = Shared(x);
    let parts = map_row_blocks(x.0.size()[0], |start, len| {
        let x = x.rows(start, len)?.f_to_kind(Kind::Double)?;
        two_sums(&x, &x.f_square()?)
    });
    total(parts?, &shape, Kind::Double)
}

/// Sums of gy and of gy z, `double [2, width]`.
fn gradient_sums(gy: &Tensor, x: &Tensor, columns: &Tensor) -> Result<Tensor> {
    let shape = [2, x.size()[1]];
    let (gy, x, columns) = (Shared(gy), Shared(x), Shared(columns));
    let parts = map_row_blocks(x.0.size()[0], |start, len| {
        let gy = gy.rows(start, len)?;
        let product = normalized_block(&x.rows(start, len)?, columns)?.f_mul_(&gy)?;
        two_sums(&gy, &product)
    });
    total(parts?, &shape, Kind::Double)
}

fn two_sums(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let sum = |x: &Tensor| x.f_sum_dim_intlist([0_i64].as_slice(), false, Kind::Double);
    Ok(Tensor::f_stack(&[sum(a)?, sum(b)?], 0)?)
}

/// scale (gy - mean of gy - z mean of gy z).
fn input_gradient(
    gy: &Tensor,
    x: &Tensor,
    columns: &Tensor,
    means: &Tensor,
    scale: &Tensor,
) -> Result<Tensor> {
    let gx = tensor::empty(&x.size(), x.kind())?;
    {
        let (gy, x, columns) = (Shared(gy), Shared(x), Shared(columns));
        let (means, scale, gx) = (Shared(means), Shared(scale), Shared(&gx));
        map_row_blocks(x.0.size()[0], |start, len| {
            let means = means.whole();
            let z = normalized_block(&x.rows(start, len)?, columns)?;
            let centred = gy.rows(start, len)?.f_sub(&means.f_select(0, 0)?)?;
            let part = centred.f_sub(&z.f_mul(&means.f_select(0, 1)?)?)?;
            Ok(gx.rows(start, len)?.f_copy_(&part.f_mul(&scale.whole())?)?)
        })?;
    }
    Ok(gx)
}
