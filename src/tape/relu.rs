//! The rectified linear unit.

use std::rc::Rc;

use tch::Tensor;

use super::record::{Adjoint, Tape};
use super::var::Var;
use crate::error::Result;
use crate::kernels::{relu, relu_adjoint};
use crate::spill::PointerTensor;
use crate::tensor::{self, with_element};

impl Tape<'_> {
    /// The rectified linear unit, max(x, 0). It is computed again rather than stored.
    pub fn relu(&mut self, x: &Var) -> Result<Var> {
        let recipe = {
            let x = x.clone();
            Rc::new(move || rectified(&*x.pin_held()?))
        };
        let layout = (x.size(), x.kind());
        let value = if self.retains() {
            self.manager().track_rows("relu", recipe()?)?
        } else {
            self.manager().track_recipe("relu", layout, None, recipe)
        };
        let y = self.var(value, x.needs_grad());
        self.record(&y, ReluAdjoint(x.clone()));
        Ok(y)
    }
}

fn rectified(x: &Tensor) -> Result<Tensor> {
    let mut y = tensor::empty(&x.size(), x.kind())?;
    with_element!(x.kind(), E => {
        relu(tensor::slice::<E>(x), tensor::slice_mut(&mut y));
        Ok(y)
    })
}

struct ReluAdjoint(Var);

impl Adjoint for ReluAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let ReluAdjoint(x) = *self;
        let gx = {
            let (x, gy) = (x.pin_held()?, gradient.pin_held()?);
            // A value that was given from outside may be held in another type than its gradient.
            let gy = if gy.kind() == x.kind() { gy } else { gradient.pin()? };
            let mut gx = tensor::empty(&x.size(), x.kind())?;
            with_element!(x.kind(), E => {
                relu_adjoint(tensor::slice::<E>(&x), tensor::slice(&gy), tensor::slice_mut(&mut gx));
                Ok(())
            })?;
            gx
        };
        let gx = tape.manager().track_rows("gradient", gx)?;
        tape.add_grad(x.target().as_ref(), gx)
    }
}
