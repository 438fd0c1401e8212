//! Selection of rows by a list with repetitions.

use std::rc::Rc;

use tch::Tensor;

use crate::engine::spill::PointerTensor;
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::error::Result;

impl Tape<'_> {
    /// `y[i] = x[rows[i]]`; `rows` is `int64` and may name a row several times.
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    pub fn pick_rows(&mut self, x: &Var, rows: &Tensor) -> Result<Var> {
        let _span = self.span("rows");
        let rows = &self.manager().track("rows", tensor::copy(rows)?);
        let layout = ([rows.size()[0], x.width()], x.kind());
        let recipe = {
            let (x, rows) = (x.value(), rows.clone());
            Rc::new(move || Ok(x.pin()?.f_index_select(0, &*rows.pin()?)?))
        };
        let value = self.manager().track_recipe("picked", &layout.0, layout.1, None, recipe);
        let y = self.var(value, x.needs_grad());
        if let Some(x) = x.target() {
            self.record(&y, PickAdjoint { x, rows: rows.clone() });
        }
        Ok(y)
    }
}

struct PickAdjoint {
    x: Target,
    rows: PointerTensor,
}

/// A row's gradient is the sum of the gradients of its copies.
impl Adjoint for PickAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let mut gx: Tensor = tensor::zeros(&self.x.size, gradient.kind())?;
        gx = gx.f_index_add_(0, &*self.rows.pin()?, &*gradient.pin()?)?;
        let gx = tape.manager().track_rows("gradient", gx)?;
        tape.add_grad(Some(&self.x), gx)
    }
}
