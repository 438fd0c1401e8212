//! Cross entropies of blocks of rows: losses and gradients of logits `[rows, classes]`.

use tch::Tensor;

use crate::words::error::Result;

/// `-w_y log softmax(x)_y` of each row, with labels y `int64 [rows]` and weights w `[classes]` or 1.
pub(in crate::nn) fn cross_entropy(
    logits: &Tensor,
    labels: &Tensor,
    weights: Option<&Tensor>,
) -> Result<(Tensor, Tensor)> {
    let column = labels.f_unsqueeze(1)?;
    let log_probabilities = logits.f_log_softmax(1, logits.kind())?;
    let losses = log_probabilities.f_gather(1, &column, false)?.f_neg()?;
    // d loss / d logits = w_y (softmax - one hot).
    let minus_one = losses.f_ones_like()?.f_neg()?;
    let gradient = log_probabilities.f_exp()?.f_scatter_add(1, &column, &minus_one)?;
    match weights {
        None => Ok((losses, gradient)),
        Some(weights) => {
            let weights = weights.f_index_select(0, labels)?.f_unsqueeze(1)?;
            Ok((losses.f_mul(&weights)?, gradient.f_mul(&weights)?))
        }
    }
}

/// `-(w_c y log σ(x) + (1 - y) log σ(-x))` of each element, with labels y `[rows, classes]` and weights w `[classes]` or 1.
pub(in crate::nn) fn binary_cross_entropy(
    logits: &Tensor,
    labels: &Tensor,
    positive_weights: Option<&Tensor>,
) -> Result<(Tensor, Tensor)> {
    let labels = labels.f_to_kind(logits.kind())?;
    let negative = labels.f_neg()?.f_add_scalar(1.0)?;
    let positive = match positive_weights {
        Some(weights) => labels.f_mul(weights)?,
        None => labels,
    };
    let opposite = logits.f_neg()?;
    let of_positive = logits.f_log_sigmoid()?.f_mul(&positive)?;
    let losses = opposite.f_log_sigmoid()?.f_mul(&negative)?.f_add(&of_positive)?.f_neg()?;
    let of_positive = opposite.f_sigmoid()?.f_mul(&positive)?;
    let gradient = logits.f_sigmoid()?.f_mul(&negative)?.f_sub(&of_positive)?;
    Ok((losses, gradient))
}
