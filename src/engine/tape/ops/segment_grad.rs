//! libtorch's autograd inside a segment.

use std::collections::HashSet;

use tch::Tensor;

use crate::engine::tensor;
use crate::words::error::Result;

/// The code of a segment: computes a block of output rows from the same rows of each input, and the parameters.
pub(in crate::engine::tape) type Code =
    dyn Fn(&[Tensor], &[Tensor]) -> Result<Tensor> + Send + Sync;

/// One run of a segment's code with gradients on: libtorch's local graph.
pub(in crate::engine::tape) struct SegmentGrad {
    inputs: Vec<Tensor>,
    parameters: Vec<Tensor>,
    pub(in crate::engine::tape) output: Tensor,
}

/// Gradients of inputs or parameters; `None` if no gradient arrives.
type Grads = Vec<Option<Tensor>>;

impl SegmentGrad {
    /// Runs `code`; `needs` says which inputs need a gradient. All parameters do.
    pub(in crate::engine::tape) fn run(
        code: &Code,
        inputs: Vec<Tensor>,
        needs: &[bool],
        parameters: Vec<Tensor>,
    ) -> Result<Self> {
        let leaf =
            |(value, needs): (Tensor, bool)| Ok(value.f_detach()?.f_set_requires_grad(needs)?);
        let inputs = inputs.into_iter().zip(needs.iter().copied()).map(leaf);
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let parameters = parameters.into_iter().map(|p| leaf((p, true)));
        let parameters = parameters.collect::<Result<Vec<_>>>()?;
        let output = code(&inputs, &parameters)?;
        Ok(SegmentGrad { inputs, parameters, output })
    }

    /// Gradients of inputs and parameters, each in its own memory, given the gradient `gy` of the output.
    pub(in crate::engine::tape) fn vjp(&self, gy: &Tensor) -> Result<(Grads, Grads)> {
        // tch's backward takes no output gradient; the inner product with gy has the same gradient. A constant output
        // has none.
        if self.output.requires_grad() {
            self.output.f_mul(gy)?.f_sum(gy.kind())?.f_backward()?;
        }
        let grad = |leaf: &Tensor| {
            let grad = leaf.requires_grad().then(|| leaf.f_grad()).transpose()?;
            Ok(grad.filter(Tensor::defined))
        };
        let mut inputs: Grads = self.inputs.iter().map(grad).collect::<Result<_>>()?;
        let mut parameters: Grads = self.parameters.iter().map(grad).collect::<Result<_>>()?;
        set_apart(inputs.iter_mut().chain(&mut parameters).flatten())?;
        Ok((inputs, parameters))
    }
}

/// Copies gradients that share memory with another one: libtorch gives all terms of a sum the same tensor, and later
/// operations write to a gradient in place.
fn set_apart<'t>(gradients: impl Iterator<Item = &'t mut Tensor>) -> Result<()> {
    let mut places = HashSet::new();
    for gradient in gradients.filter(|gradient| gradient.numel() > 0) {
        if !places.insert(gradient.data_ptr()) {
            *gradient = tensor::copy(gradient)?;
        }
    }
    Ok(())
}
