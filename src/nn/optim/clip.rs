//! Gradient clipping.

use tch::{Kind, Tensor};

use crate::words::error::Result;

/// Scales gradients down so that their norm is at most `max_norm`, like `torch.nn.utils.clip_grad_norm_`. `gradient` holds the
/// gradients of all parameters.
///
/// # Errors
/// If memory for the result runs out (`Tensor`).
pub fn clip_grad_norm(gradient: &Tensor, max_norm: f64) -> Result<Tensor> {
    Ok(match clip_factor(gradient, 0.0, max_norm)? {
        Some(factor) => gradient.f_mul_scalar(factor)?,
        None => gradient.shallow_clone(),
    })
}

/// Factor by which `torch.nn.utils.clip_grad_norm_` multiplies gradients, `min(1, max_norm / (norm + 1e-6))`; `None` if
/// it is 1. `squares` is the sum of squares of the gradients outside `gradient`.
///
/// # Errors
/// If memory for the squares runs out (`Tensor`).
pub fn clip_factor(gradient: &Tensor, squares: f64, max_norm: f64) -> Result<Option<f64>> {
    let own = sum_of_squares(gradient)?;
    // With a norm of NaN, gradients become NaN, as in PyTorch.
    let factor = max_norm / ((own + squares).sqrt() + 1e-6);
    Ok(if factor >= 1.0 { None } else { Some(factor) })
}

/// Sum of squares, in double precision.
pub(crate) fn sum_of_squares(values: &Tensor) -> Result<f64> {
    let squares = values.f_to_kind(Kind::Double)?.f_square()?;
    Ok(squares.f_sum(Kind::Double)?.f_double_value(&[])?)
}
