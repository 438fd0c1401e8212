//! Selection of rows.

use std::rc::Rc;

use tch::Tensor;

use super::aggregate::add_rows;
use crate::engine::spill::{Pointer, PointerTensor};
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::engine::tensor::with_element;
use crate::kernels::gather_rows;
use crate::words::error::Result;

impl Tape<'_> {
    /// The rows of `x` (`[num_sources, width]`) that belong to the destinations, `[num_destinations, width]`: `x`
    /// itself if sources and destinations are the same nodes.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn destinations(&mut self, graph: &dyn Graph, x: &Var) -> Result<Var> {
        match graph.destination_rows() {
            Some(rows) => self.rows(x, rows),
            None => Ok(x.clone()),
        }
    }

    /// Selected rows of `x`, ascending. They are selected again when needed, rather than stored.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn rows(&mut self, x: &Var, rows: &Pointer<Vec<u32>>) -> Result<Var> {
        let _span = self.span("rows");
        let value = if let Some(entries) = x.value().entries_of_rows(rows)? {
            self.manager().track_entries("rows", entries, None)
        } else {
            let layout = ([rows.len() as i64, x.width()], x.kind());
            let (x, rows) = (x.value(), rows.clone());
            let recipe = Rc::new(move || gather(&*x.pin_held()?, &rows.pin()?));
            self.manager().track_recipe("rows", &layout.0, layout.1, None, recipe)
        };
        if x.is_constant() {
            // Like `destinations` on a rank whose sources are its destinations, so that all ranks remember the same
            // aggregates.
            return Ok(self.constant(&value));
        }
        let y = self.var(value, x.needs_grad());
        if let Some(x) = x.target() {
            self.record(&y, RowsAdjoint { x, rows: rows.clone() });
        }
        Ok(y)
    }

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

pub(in crate::engine::tape) fn gather(x: &Tensor, rows: &[u32]) -> Result<Tensor> {
    let width = x.size()[1];
    let mut y = tensor::empty(&[rows.len() as i64, width], x.kind())?;
    with_element!(x.kind(), T => {
        gather_rows(&tensor::slice::<T>(x), width as usize, rows, &mut tensor::slice_mut::<T>(&mut y));
        Ok(y)
    })
}

struct RowsAdjoint {
    x: Target,
    rows: Pointer<Vec<u32>>,
}

/// The gradient of the rows, at their places in the input.
impl Adjoint for RowsAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let mut gx = tensor::zeros(&self.x.size, gradient.kind())?;
        add_rows(&*gradient.pin_held()?, &self.rows.pin()?, &mut gx)?;
        tape.add_new_grad(Some(&self.x), gx)
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
        tape.add_new_grad(Some(&self.x), gx)
    }
}
