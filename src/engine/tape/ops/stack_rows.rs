//! Stacking of values.

use std::rc::Rc;

use tch::Tensor;

use crate::engine::spill::PointerTensor;
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::error::{Error, Result};

impl Tape<'_> {
    /// Stacks the rows of all `parts`, which must have the same width.
    ///
    /// # Errors
    /// If `parts` is empty, the widths differ (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    pub fn stack_rows(&mut self, parts: &[Var]) -> Result<Var> {
        let _span = self.span("rows");
        let values: Vec<PointerTensor> = parts.iter().map(Var::value).collect();
        let rows = values.iter().map(|value| value.size()[0]).sum();
        let layout = parts.first().map(|part| ([rows, part.width()], part.kind()));
        let Some((size, kind)) = layout else {
            return Err(Error::internal("rows are stacked from an empty list of parts"));
        };
        let recipe = Rc::new(move || {
            let pinned = values.iter().map(PointerTensor::pin).collect::<Result<Vec<_>>>()?;
            let pinned: Vec<&Tensor> = pinned.iter().map(|value| &**value).collect();
            Ok(Tensor::f_cat(&pinned, 0)?)
        });
        let value = self.manager().track_recipe("stacked", &size, kind, None, recipe);
        let y = self.var(value, parts.iter().any(Var::needs_grad));
        if y.needs_grad() {
            let parts =
                parts.iter().map(|part| Part { rows: part.value().size()[0], x: part.target() });
            self.record(&y, StackAdjoint { parts: parts.collect() });
        }
        Ok(y)
    }
}

struct StackAdjoint {
    parts: Vec<Part>,
}

struct Part {
    rows: i64,
    /// `None` if the part needs no gradient.
    x: Option<Target>,
}

/// Each part gets the gradients of its own rows.
impl Adjoint for StackAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let mut first = 0;
        for Part { rows, x } in self.parts {
            if x.is_some() {
                let gx = tensor::copy(&gradient.pin()?.f_narrow(0, first, rows)?)?;
                let gx = tape.manager().track_rows("gradient", gx)?;
                tape.add_grad(x.as_ref(), gx)?;
            }
            first += rows;
        }
        Ok(())
    }
}
