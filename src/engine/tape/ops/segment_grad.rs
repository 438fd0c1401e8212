//! libtorch's autograd inside a segment.

use tch::Tensor;

use super::segment::Code;
use crate::error::Result;

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

    /// Gradients of inputs and parameters, given the gradient `gy` of the output.
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
        let inputs = self.inputs.iter().map(grad).collect::<Result<_>>()?;
        Ok((inputs, self.parameters.iter().map(grad).collect::<Result<_>>()?))
    }
}
