//! Dropout.

use std::rc::Rc;

use tch::Tensor;

use super::record::{Adjoint, Tape};
use super::var::Var;
use crate::error::{Error, Result};
use crate::kernels::{DropoutKey, dropout};
use crate::spill::PointerTensor;
use crate::tensor::{self, with_element};

/// One application of dropout. Its own adjoint: the same mask, the same factor.
#[derive(Clone)]
struct Mask {
    key: DropoutKey,
    probability: f64,
    node_ids: PointerTensor,
}

impl Mask {
    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let (size, kind) = (x.size(), x.kind());
        let mut y = tensor::empty(&size, kind)?;
        let ids = self.node_ids.pin()?;
        let ids = (tensor::slice::<i64>(&ids), size[1] as usize);
        with_element!(kind, T => {
            let y = tensor::slice_mut::<T>(&mut y);
            dropout(self.key, self.probability, ids, tensor::slice::<T>(x), y);
            Ok(())
        })?;
        Ok(y)
    }
}

impl Tape<'_> {
    /// Sets each element to 0 with the given probability and scales the others by 1 / (1 - probability); in an
    /// evaluation, does nothing. Row i of `x` belongs to the node with global id `node_ids[i]` (`int64`). At most one
    /// dropout per layer and node.
    ///
    /// The mask is a function of (seed, epoch, layer, global node id, column), so it is the same whatever the memory
    /// budget, and it is computed again rather than stored.
    ///
    /// # Errors
    /// If the probability is not in [0, 1).
    pub fn dropout(&mut self, node_ids: &PointerTensor, x: &Var, probability: f64) -> Result<Var> {
        if !(0.0..1.0).contains(&probability) {
            let problem = format!("must be at least 0 and below 1, not {probability}");
            return Err(Error::config("dropout", problem));
        }
        if probability == 0.0 {
            return Ok(x.clone());
        }
        let Some(key) = self.dropout_key() else {
            // Not the handle itself: a constant must not be taken for one in evaluations alone.
            return Ok(self.input(&x.value()));
        };
        let mask = Mask { key, probability, node_ids: node_ids.clone() };
        let recipe = {
            let (x, mask) = (x.clone(), mask.clone());
            Rc::new(move || mask.apply(&*x.pin_held()?))
        };
        let layout = (x.size().to_vec(), x.kind());
        let value = self.manager().track_recipe("dropout", (&layout.0, layout.1), None, recipe);
        let y = self.var(value, x.needs_grad());
        self.record(&y, DropoutAdjoint { x: x.clone(), mask });
        Ok(y)
    }
}

struct DropoutAdjoint {
    x: Var,
    mask: Mask,
}

impl Adjoint for DropoutAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gy: PointerTensor) -> Result<()> {
        let gx = self.mask.apply(&*gy.pin_held()?)?;
        let gx = tape.manager().track_rows("gradient", gx)?;
        tape.add_grad(self.x.target().as_ref(), gx)
    }
}
