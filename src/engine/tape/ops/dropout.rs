//! Dropout.

use std::rc::Rc;

use tch::Tensor;

use crate::engine::spill::PointerTensor;
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::engine::tensor::with_element;
use crate::kernels::{DropoutKey, dropout};
use crate::words::error::{Error, Result};

/// Bit in the layer of a key for dropout of edges; models have fewer layers.
const OF_EDGES: u32 = 1 << 15;

/// One application of dropout. It is its own adjoint: the same mask, the same factor.
#[derive(Clone)]
pub(in crate::engine::tape) struct Mask {
    key: DropoutKey,
    probability: f64,
    node_ids: PointerTensor,
}

impl Mask {
    /// Drops elements of `x`, in place.
    pub(in crate::engine::tape) fn apply(&self, x: &mut Tensor) -> Result<()> {
        let ids = self.node_ids.pin()?;
        let (ids, width) = (&tensor::slice::<i64>(&ids), x.size()[1] as usize);
        with_element!(x.kind(), T => {
            dropout(self.key, self.probability, ids, width, &mut tensor::slice_mut::<T>(x));
            Ok(())
        })
    }

    /// The factor of the elements that are kept.
    pub(in crate::engine::tape) fn scale(&self) -> f64 {
        1.0 / (1.0 - self.probability)
    }
}

impl Tape<'_> {
    /// Sets each element to 0 with the given probability and scales the others by 1 / (1 - probability); does nothing in an
    /// evaluation. Row i of `x` belongs to the node with global id `node_ids[i]` (`int64`). Apply dropout to the same nodes
    /// once per layer: a second one would drop the same elements.
    ///
    /// The mask is a function of (seed, epoch, layer, global node id, column), so it does not depend on the memory budget, and
    /// it is computed again rather than stored.
    ///
    /// # Errors
    /// If the probability is not in [0, 1).
    pub fn dropout(&mut self, node_ids: &PointerTensor, x: &Var, probability: f64) -> Result<Var> {
        let mask = self.mask(node_ids, probability)?;
        self.masked(mask, x, probability)
    }

    /// Like [`dropout`](Self::dropout), for rows of edges: row i of `x` belongs to the edge with global id `edge_ids[i]`
    /// (`int64`). It draws other numbers than the dropout of nodes with the same ids.
    ///
    /// # Errors
    /// As for [`dropout`](Self::dropout).
    pub fn dropout_of_edges(
        &mut self,
        edge_ids: &PointerTensor,
        x: &Var,
        probability: f64,
    ) -> Result<Var> {
        let mask = self.mask(edge_ids, probability)?.map(|mask| {
            let layer = mask.key.layer | OF_EDGES;
            Mask { key: DropoutKey { layer, ..mask.key }, ..mask }
        });
        self.masked(mask, x, probability)
    }

    /// Applies a mask of this probability; `None` in an evaluation.
    fn masked(&mut self, mask: Option<Mask>, x: &Var, probability: f64) -> Result<Var> {
        let _span = self.span("dropout");
        let Some(mask) = mask else {
            // Not the handle itself: it would count as a constant in evaluations only.
            return Ok(if probability == 0.0 { x.clone() } else { self.input(&x.value()) });
        };
        let recipe = {
            let (manager, x, mask) = (self.manager().clone(), x.saved(), mask.clone());
            Rc::new(move || {
                let mut y = tensor::copy(&*x.lend(&manager)?)?;
                mask.apply(&mut y)?;
                Ok(y)
            })
        };
        let layout = (x.size().to_vec(), x.kind());
        let value = self.manager().track_recipe("dropout", &layout.0, layout.1, None, recipe);
        // Now, while the input is in memory.
        drop(value.pin_held()?);
        let y = self.var(value, x.needs_grad());
        if let Some(x) = x.target() {
            self.record(&y, DropoutAdjoint { x, mask });
        }
        Ok(y)
    }

    /// The mask of an application of dropout; `None` in an evaluation.
    pub(in crate::engine::tape) fn mask(
        &self,
        node_ids: &PointerTensor,
        probability: f64,
    ) -> Result<Option<Mask>> {
        if !(0.0..1.0).contains(&probability) {
            let problem = format!("must be at least 0 and below 1, not {probability}");
            return Err(Error::config("dropout", problem));
        }
        let key = self.dropout_key().filter(|_| probability > 0.0);
        Ok(key.map(|key| Mask { key, probability, node_ids: node_ids.clone() }))
    }
}

struct DropoutAdjoint {
    x: Target,
    mask: Mask,
}

impl Adjoint for DropoutAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gy: PointerTensor) -> Result<()> {
        let mut gx = gy.into_tensor(true)?;
        self.mask.apply(&mut gx)?;
        tape.add_new_grad(Some(&self.x), gx)
    }
}
