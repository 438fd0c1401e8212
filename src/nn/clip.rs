//! Gradient clipping.

use tch::{Kind, Tensor};

use crate::error::Result;

/// Scales gradients down so that their norm is at most `max_norm`, as `torch.nn.utils.clip_grad_norm_`: by
/// `min(1, max_norm / (norm + 1e-6))`. `gradient` holds the gradients of all parameters.
pub fn clip_grad_norm(gradient: &Tensor, max_norm: f64) -> Result<Tensor> {
    let squares = gradient.f_to_kind(Kind::Double)?.f_square()?;
    let norm = squares.f_sum(Kind::Double)?.f_double_value(&[])?.sqrt();
    // A norm that is not a number gives gradients that are none, as in PyTorch.
    let factor = max_norm / (norm + 1e-6);
    Ok(if factor >= 1.0 { gradient.shallow_clone() } else { gradient.f_mul_scalar(factor)? })
}
