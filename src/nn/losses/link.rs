//! Link prediction: the loss of scores, and metrics.

use tch::{Kind, Tensor};

use crate::words::error::Result;

/// The mean binary cross entropy of scores (`[pairs, 1]`), where the first `num_positive` belong to edges and the others do
/// not; and the gradient of the scores.
///
/// ```
/// use sar::nn::link_loss;
/// use tch::Tensor;
///
/// let scores = Tensor::from_slice(&[0.0, 0.0]).view([2, 1]);
/// let (loss, gradient) = link_loss(&scores, 1)?;
/// assert!((loss - 2f64.ln()).abs() < 1e-12);
/// assert_eq!([gradient.double_value(&[0, 0]), gradient.double_value(&[1, 0])], [-0.25, 0.25]);
/// # Ok::<(), sar::Error>(())
/// ```
///
/// # Errors
/// If the shapes or types do not fit (`Tensor`).
pub fn link_loss(scores: &Tensor, num_positive: i64) -> Result<(f64, Tensor)> {
    let pairs = scores.size()[0];
    let labels = labels(scores, num_positive)?;
    if pairs == 0 {
        return Ok((0.0, labels));
    }
    let loss = link_loss_sum(scores, num_positive)? / pairs as f64;
    let gradient = scores.f_sigmoid()?.f_sub(&labels)?.f_div_scalar(pairs as f64)?;
    Ok((loss, gradient))
}

/// The sum of which [`link_loss`] is the mean.
pub(crate) fn link_loss_sum(scores: &Tensor, num_positive: i64) -> Result<f64> {
    // -log of the probability that is given to the truth.
    let signs = labels(scores, num_positive)?.f_mul_scalar(2.0)?.f_add_scalar(-1.0)?;
    let likelihood = scores.f_mul(&signs)?.f_log_sigmoid()?;
    Ok(-likelihood.f_sum(Kind::Double)?.f_double_value(&[])?)
}

/// 1 for each of the first `num_positive` scores, and 0 for the others.
fn labels(scores: &Tensor, num_positive: i64) -> Result<Tensor> {
    let labels = scores.f_zeros_like()?;
    let _ones = labels.f_narrow(0, 0, num_positive)?.f_fill_(1.0)?;
    Ok(labels)
}

/// The probability that an edge has a higher score than a negative pair (ties count half): the area under the ROC curve. `None`
/// without edges or without negative pairs; NaN if a score is.
///
/// ```
/// // The first edge beats both pairs; the second ties with one.
/// assert_eq!(sar::nn::auc(&[3.0, 1.0], &[2.0, 1.0]), Some(0.625));
/// ```
pub fn auc(positive: &[f32], negative: &[f32]) -> Option<f64> {
    if positive.is_empty() || negative.is_empty() {
        return None;
    }
    if has_nan(positive) || has_nan(negative) {
        return Some(f64::NAN);
    }
    let mut negative = negative.to_vec();
    negative.sort_unstable_by(f32::total_cmp);
    let beaten = |score: &f32| {
        let below = negative.partition_point(|n| n < score);
        let not_above = negative.partition_point(|n| n <= score);
        (below + not_above) as f64 / 2.0
    };
    let wins: f64 = positive.iter().map(beaten).sum();
    Some(wins / (positive.len() * negative.len()) as f64)
}

/// The mean over edges of 1 / rank of the edge's score among its own negative pairs (ties count half, as in OGB). The pairs of
/// edge i are `negative[i * k..][..k]`. `None` without edges or negative pairs, or if the numbers do not match; NaN if a score is.
///
/// ```
/// // Ranks 1 and 2.5.
/// let mrr = sar::nn::mean_reciprocal_rank(&[3.0, 1.0], &[2.0, 1.0, 4.0, 1.0]);
/// assert!((mrr.unwrap() - 0.7).abs() < 1e-12);
/// ```
pub fn mean_reciprocal_rank(positive: &[f32], negative: &[f32]) -> Option<f64> {
    let no_pairs = positive.is_empty() || negative.is_empty();
    if no_pairs || !negative.len().is_multiple_of(positive.len()) {
        return None;
    }
    if has_nan(positive) || has_nan(negative) {
        return Some(f64::NAN);
    }
    Some(reciprocal_ranks_sum(positive, negative) / positive.len() as f64)
}

/// The sum of which [`mean_reciprocal_rank`] is the mean.
pub(crate) fn reciprocal_ranks_sum(positive: &[f32], negative: &[f32]) -> f64 {
    let k = negative.len() / positive.len().max(1);
    let reciprocal = |(i, score): (usize, &f32)| {
        let own = &negative[i * k..][..k];
        let above = own.iter().filter(|n| *n > score).count();
        let not_below = own.iter().filter(|n| *n >= score).count();
        1.0 / (1.0 + (above + not_below) as f64 / 2.0)
    };
    positive.iter().enumerate().map(reciprocal).sum()
}

fn has_nan(scores: &[f32]) -> bool {
    scores.iter().any(|score| score.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_edges_or_their_pairs_there_is_no_number() {
        assert_eq!((auc(&[], &[1.0]), auc(&[1.0], &[])), (None, None));
        assert_eq!(mean_reciprocal_rank(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(mean_reciprocal_rank(&[1.0], &[]), None);
    }

    #[test]
    fn scores_that_are_nan_have_no_rank() {
        for (positive, negative) in [([f32::NAN], [1.0]), ([1.0], [f32::NAN])] {
            assert!(auc(&positive, &negative).unwrap().is_nan());
            assert!(mean_reciprocal_rank(&positive, &negative).unwrap().is_nan());
        }
    }
}
