//! The loss of node classification, and its accuracy.

use tch::{Kind, Tensor};

use crate::error::Result;
use crate::tensor;

/// Cross entropy of the rows in `mask`, summed and divided by `total` (the number of such rows over all ranks). Gives
/// this rank's part of the loss and the gradient of the logits.
///
/// `logits` is `[n, classes]`, `labels` `int64 [n]`, `mask` `bool [n]`. Labels outside the mask are not looked at.
pub fn cross_entropy(
    logits: &Tensor,
    labels: &Tensor,
    mask: &Tensor,
    total: i64,
) -> Result<(f64, Tensor)> {
    let gradient = tensor::zeros(&logits.size(), logits.kind())?;
    let rows = mask.f_nonzero()?.f_squeeze_dim(1)?;
    if rows.numel() == 0 {
        return Ok((0.0, gradient));
    }
    let labels = labels.f_index_select(0, &rows)?.f_unsqueeze(1)?;
    let log_probabilities = logits.f_index_select(0, &rows)?.f_log_softmax(1, logits.kind())?;
    let of_label = log_probabilities.f_gather(1, &labels, false)?;
    let loss = -of_label.f_sum(Kind::Double)?.f_double_value(&[])? / total as f64;
    // d loss / d logits = (softmax - one hot) / total.
    let ones = of_label.f_ones_like()?;
    let part = log_probabilities.f_exp()?.f_scatter_add(1, &labels, &ones.f_neg()?)?;
    let gradient = gradient.f_index_copy(0, &rows, &part.f_div_scalar(total as f64)?)?;
    Ok((loss, gradient))
}

/// How many rows of each mask have their label as the largest logit, and how many rows there are.
///
/// Shapes as in [`cross_entropy`].
pub fn accuracy_counts(logits: &Tensor, labels: &Tensor, mask: &Tensor) -> Result<(i64, i64)> {
    let total = mask.f_sum(Kind::Int64)?.f_int64_value(&[])?;
    if total == 0 {
        return Ok((0, 0));
    }
    let right = logits.f_argmax(1, false)?.f_eq_tensor(labels)?.f_logical_and(mask)?;
    Ok((right.f_sum(Kind::Int64)?.f_int64_value(&[])?, total))
}
