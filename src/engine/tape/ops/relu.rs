//! The rectified linear unit.

use std::rc::Rc;

use tch::Tensor;

use super::dropout::Mask;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::engine::tensor::with_element;
use crate::kernels::{relu, relu_adjoint};
use crate::words::error::Result;

impl Tape<'_> {
    /// The rectified linear unit, max(x, 0). Move `x` in if it is not used again: its memory is then reused.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn relu(&mut self, x: Var) -> Result<Var> {
        self.rectify(x, None)
    }

    /// The rectified linear unit followed by [dropout](Tape::dropout), with a single stored result.
    ///
    /// # Errors
    /// If the probability is not in [0, 1).
    pub fn relu_dropout(
        &mut self,
        node_ids: &PointerTensor,
        x: Var,
        probability: f64,
    ) -> Result<Var> {
        let mask = self.mask(node_ids, probability)?;
        self.rectify(x, mask)
    }

    /// The result; stored in place of `x` if nothing else needs `x`, otherwise recomputed from it.
    fn rectify(&mut self, x: Var, mask: Option<Mask>) -> Result<Var> {
        let _span = self.span("relu");
        let (target, needs_grad) = (x.target(), x.needs_grad());
        let scale = mask.as_ref().map_or(1.0, Mask::scale);
        let value = if x.is_spare() {
            let y = rectified(x.into_tensor(true)?, mask.as_ref())?;
            self.manager().track_rows("relu", y)?
        } else {
            let layout = (x.size().to_vec(), x.kind());
            let recipe = {
                let (manager, x) = (self.manager().clone(), x.saved());
                Rc::new(move || {
                    let x = tensor::copy(&*x.lend(&manager)?)?;
                    rectified(x, mask.as_ref())
                })
            };
            let value = self.manager().track_recipe("relu", &layout.0, layout.1, None, recipe);
            // Compute it now, while the input is in memory.
            drop(value.pin_held()?);
            value
        };
        let y = self.var(value, needs_grad);
        self.record(&y, ReluAdjoint { x: target, y: y.value(), scale });
        Ok(y)
    }
}

fn rectified(x: Tensor, mask: Option<&Mask>) -> Result<Tensor> {
    let mut y = x;
    with_element!(y.kind(), E => {
        relu(&mut tensor::slice_mut::<E>(&mut y));
        Ok(())
    })?;
    mask.map_or(Ok(()), |mask| mask.apply(&mut y))?;
    Ok(y)
}

/// The adjoint needs the output only: kept elements are positive in the output if and only if they are in the input,
/// and dropped elements pass no gradient. So the input need not be restored.
struct ReluAdjoint {
    x: Option<Target>,
    y: PointerTensor,
    scale: f64,
}

impl Adjoint for ReluAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let ReluAdjoint { x, y, scale } = *self;
        // A recomputable value may be held in another type than its gradient.
        let as_held = y.held_kind() == gradient.held_kind();
        let mut g = gradient.into_tensor(as_held)?;
        {
            let y = if as_held { y.pin_held()? } else { y.pin()? };
            with_element!(g.kind(), E => {
                relu_adjoint(&tensor::slice::<E>(&y), scale, &mut tensor::slice_mut(&mut g));
                Ok(())
            })?;
        }
        drop(y);
        tape.add_new_grad(x.as_ref(), g)
    }
}
