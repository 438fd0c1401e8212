//! Local segments: row-wise torch code.

use std::rc::Rc;

use tch::Tensor;

use super::segment_grad::{Code, SegmentGrad};
use crate::engine::spill::{Lent, PartitionDataManager, PointerTensor};
use crate::engine::tape::parameters::{Parameter, ParameterSet};
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Saved, Var};
use crate::engine::tensor;
use crate::engine::tensor::{BLOCK_ROWS, Shared, map_row_blocks};
use crate::words::error::{Error, Result};

/// libtorch computes the last elements of a block, which do not fill its widest instructions, differently from the
/// others. With a multiple of this number of rows there are none.
const FULL_ROWS: i64 = 32;

/// A segment with everything that is needed to run it again.
pub(in crate::engine::tape) struct Segment {
    pub(in crate::engine::tape) inputs: Vec<Saved>,
    pub(in crate::engine::tape) parameters: Vec<Parameter>,
    pub(in crate::engine::tape) code: Box<Code>,
    /// Whether blocks are padded to a multiple of [`FULL_ROWS`]: in evaluations, where a subset of the nodes must get
    /// the same bits as all nodes.
    fills_blocks: bool,
    parameter_set: Rc<ParameterSet>,
    manager: Rc<PartitionDataManager>,
}

/// Values of a segment's inputs, in the types in which they are held.
pub(in crate::engine::tape) struct Values {
    pub(in crate::engine::tape) inputs: Vec<Lent<Tensor>>,
    pub(in crate::engine::tape) parameters: Vec<Tensor>,
}

impl Tape<'_> {
    /// Runs torch code on the rows of this partition.
    ///
    /// `code` takes blocks of rows of the inputs (`[block, width]` each) and the values of `parameters`, and returns
    /// the same rows of the output. It must be row-wise: a row of the output depends on that row of the inputs only. It
    /// must be a pure function, because several threads run it, and it runs again when its output is needed after a
    /// pause and, with gradients on, in the backward pass.
    ///
    /// # Errors
    /// If the inputs differ in their number of rows, or the output has another number of rows than the block.
    pub fn segment(
        &mut self,
        name: &str,
        inputs: &[&Var],
        parameters: &[Parameter],
        code: impl Fn(&[Tensor], &[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<Var> {
        let _span = self.span("segment");
        let segment = Rc::new(Segment {
            inputs: inputs.iter().map(|v| v.saved()).collect(),
            fills_blocks: !self.records(),
            parameter_set: self.parameters().clone(),
            manager: self.manager().clone(),
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
        let pointer = self.manager().track_recipe(name, &layout.0, layout.1, Some(value), recipe);
        let y = self.var(pointer, needs_grad);
        self.record(&y, Rematerialised(segment));
        Ok(y)
    }

    /// Detaches a value: no gradient passes. The result is stored instead of recomputed from its inputs.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn store(&mut self, x: &Var) -> Result<Var> {
        let value = tensor::copy(&*x.pin()?)?;
        let value = self.manager().track("stored", value);
        Ok(self.input(&value))
    }

    /// Multiplies each row by `scale[row]`, a function of the graph alone, such as [degrees](Tape::degree_scale).
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    pub fn scale_rows(&mut self, x: &Var, scale: &PointerTensor) -> Result<Var> {
        let scale = self.input(scale);
        let y = self
            .segment("scaled", &[x, &scale], &[], |v, _| Ok(v[0].f_mul(&v[1].f_unsqueeze(1)?)?))?;
        Ok(if x.is_constant() { self.constant(&y.value()) } else { y })
    }

    /// The segment as one block, with libtorch's values kept for the backward pass.
    fn retained(&mut self, name: &str, segment: Rc<Segment>) -> Result<Var> {
        let rows = segment.rows()?;
        let values = segment.values()?;
        let inputs = values.inputs.iter().map(|x| Shared(x).wide_rows(0, rows));
        let inputs = inputs.collect::<Result<_>>()?;
        let run = SegmentGrad::run(&*segment.code, inputs, &segment.needs(), values.parameters)?;
        check_rows(&run.output, rows)?;
        let value = tensor::copy(&run.output.f_detach()?)?;
        let y = self.manager().track(name, value);
        let y = self.var(y, true);
        self.record(&y, Retained { segment, run });
        Ok(y)
    }
}

impl Segment {
    /// The output, computed block by block without gradients.
    fn forward(&self) -> Result<Tensor> {
        let rows = self.rows()?;
        let Values { inputs, parameters } = self.values()?;
        let inputs: Vec<_> = inputs.iter().map(|x| Shared(x)).collect();
        let parameters: Vec<_> = parameters.iter().map(Shared).collect();
        let code = &*self.code;
        let fills_blocks = self.fills_blocks;
        let block = |start: i64, len: i64| -> Result<Tensor> {
            let missing = if fills_blocks {
                len.unsigned_abs().next_multiple_of(FULL_ROWS.unsigned_abs()) as i64 - len
            } else {
                0
            };
            let inputs = inputs.iter().map(|x| filled(x.wide_rows(start, len)?, missing));
            let inputs = inputs.collect::<Result<Vec<_>>>()?;
            let parameters: Vec<_> = parameters.iter().map(|p| p.whole()).collect();
            let part = code(&inputs, &parameters)?;
            check_rows(&part, len + missing)?;
            Ok(if missing > 0 { part.f_narrow(0, 0, len)? } else { part })
        };
        // The first block determines the output's width.
        let first = block(0, BLOCK_ROWS.min(rows))?;
        let width = first.size()[1];
        let held = self.manager.computed_kind(width, first.kind());
        let output = tensor::empty(&[rows, width], held)?;
        output.f_narrow(0, 0, first.size()[0])?.f_copy_(&first)?;
        {
            let output = Shared(&output);
            map_row_blocks(rows, |start, len| match start {
                0 => Ok(()),
                _ => Ok(output.rows(start, len)?.f_copy_(&block(start, len)?)?),
            })?;
        }
        Ok(output)
    }

    fn rows(&self) -> Result<i64> {
        let rows: Vec<i64> = self.inputs.iter().map(|v| v.value.size()[0]).collect();
        match rows.first() {
            Some(first) if rows.iter().all(|r| r == first) => Ok(*first),
            _ => Err(Error::config("segment", format!("its inputs have {rows:?} rows"))),
        }
    }

    fn values(&self) -> Result<Values> {
        let parameters = self.parameters.iter().map(|p| self.parameter_set.value(*p));
        let inputs = self.inputs.iter().map(|v| v.lend(&self.manager));
        Ok(Values {
            inputs: inputs.collect::<Result<_>>()?,
            parameters: parameters.collect::<Result<_>>()?,
        })
    }

    /// Whether each input needs a gradient.
    fn needs(&self) -> Vec<bool> {
        self.inputs.iter().map(|v| v.target.is_some()).collect()
    }

    fn hand_over(
        &self,
        tape: &mut Tape<'_>,
        inputs: Vec<Option<Tensor>>,
        parameters: Vec<Option<Tensor>>,
    ) -> Result<()> {
        for (input, gradient) in self.inputs.iter().zip(inputs) {
            if let Some(gradient) = gradient {
                tape.add_new_grad(input.target.as_ref(), gradient)?;
            }
        }
        for (parameter, gradient) in self.parameters.iter().zip(parameters) {
            if let Some(gradient) = gradient {
                tape.add_parameter_grad(*parameter, gradient)?;
            }
        }
        Ok(())
    }
}

/// The rows, followed by `missing` rows of zeros.
fn filled(rows: Tensor, missing: i64) -> Result<Tensor> {
    if missing == 0 {
        return Ok(rows);
    }
    let mut shape = rows.size();
    shape[0] = missing;
    let zeros = tensor::zeros(&shape, rows.kind())?;
    Ok(Tensor::f_cat(&[rows, zeros], 0)?)
}

fn check_rows(output: &Tensor, rows: i64) -> Result<()> {
    let size = output.size();
    if size.len() == 2 && size[0] == rows {
        return Ok(());
    }
    let problem = format!("returned {size:?} for {rows} rows; it must return one row for each");
    Err(Error::config("segment", problem))
}

struct Rematerialised(Rc<Segment>);

/// Each block is run again with gradients on, and differentiated at once.
impl Adjoint for Rematerialised {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let Rematerialised(segment) = *self;
        let (rows, needs) = (segment.rows()?, segment.needs());
        let gy = gradient.into_tensor(true)?;
        // A block of the output's gradient is used before the same block of an input's is written, so one of the
        // inputs' gradients may reuse its memory.
        let mut place = Some(gy.shallow_clone());
        let whole = |Saved { value, target }: &Saved| {
            let (size, kind) = (value.size(), value.kind());
            let held = segment.manager.held_kind(size.iter().skip(1).product(), kind);
            let spare = |place: &mut Tensor| place.size() == size && place.kind() == held;
            let tensor = |_| place.take_if(spare).map_or_else(|| tensor::empty(size, held), Ok);
            target.as_ref().map(tensor).transpose()
        };
        let input_gradients = segment.inputs.iter().map(whole).collect::<Result<Vec<_>>>()?;
        let parts = {
            let Values { inputs, parameters } = segment.values()?;
            let inputs: Vec<_> = inputs.iter().map(|x| Shared(x)).collect();
            let parameters: Vec<_> = parameters.iter().map(Shared).collect();
            let gradients: Vec<_> =
                input_gradients.iter().map(|g| g.as_ref().map(Shared)).collect();
            let (code, gy) = (&*segment.code, Shared(&gy));
            map_row_blocks(rows, |start, len| {
                let inputs =
                    inputs.iter().map(|x| x.wide_rows(start, len)).collect::<Result<_>>()?;
                let parameters = parameters.iter().map(|p| p.whole()).collect();
                let run = SegmentGrad::run(code, inputs, &needs, parameters)?;
                // A copy, because libtorch rejects values of which another view has been written to.
                let (inputs, parameters) = run.vjp(&gy.wide_rows(start, len)?.f_detach_copy()?)?;
                for (whole, part) in gradients.iter().zip(inputs) {
                    let Some(whole) = whole else { continue };
                    let mut whole = whole.rows(start, len)?;
                    match part {
                        Some(part) => whole.f_copy_(&part)?,
                        None => drop(whole.f_zero_()?),
                    }
                }
                Ok(parameters)
            })?
        };
        drop((gy, place));
        segment.hand_over(tape, input_gradients, sums(parts, segment.parameters.len())?)
    }
}

/// Sums of the blocks' parameter gradients, in the order of blocks.
fn sums(parts: Vec<Vec<Option<Tensor>>>, parameters: usize) -> Result<Vec<Option<Tensor>>> {
    let mut sums: Vec<Option<Tensor>> = (0..parameters).map(|_| None).collect();
    for part in parts {
        for (sum, part) in sums.iter_mut().zip(part) {
            *sum = match (sum.take(), part) {
                (Some(sum), Some(part)) => Some(sum.f_add(&part)?),
                (sum, part) => sum.or(part),
            };
        }
    }
    Ok(sums)
}

struct Retained {
    segment: Rc<Segment>,
    run: SegmentGrad,
}

impl Adjoint for Retained {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let Retained { segment, run } = *self;
        let (inputs, parameters) = run.vjp(&*gradient.pin()?)?;
        drop((run, gradient));
        segment.hand_over(tape, inputs, parameters)
    }
}
