//! The loss of a task, over the rows of a mask.

use tch::{Kind, Tensor};

use super::cross_entropy::{binary_cross_entropy, cross_entropy};
use super::task::Task;
use crate::engine::tensor;
use crate::engine::tensor::{Shared, map_row_blocks};
use crate::words::error::Result;

/// A loss as a function of logits, labels and a mask, with its gradient.
///
/// `logits` is `[n, outputs]`, `mask` is `bool [n]`; labels outside the mask are ignored. By task, with PyTorch's definitions:
///
/// * classification: `cross_entropy(logits, labels, weight)`; labels `int64 [n]`
/// * multilabel: `binary_cross_entropy_with_logits(logits, labels, pos_weight)`; labels `[n, outputs]` of 0 and 1
/// * regression: `mse_loss(logits, labels)`; labels `[n, outputs]`, or `[n]` for one output
///
/// ```
/// use sar::nn::{Loss, Task};
/// use tch::Tensor;
///
/// let logits = Tensor::from_slice(&[2.0, 0.0, 0.0, 1.0, 5.0, 5.0]).view([3, 2]);
/// let labels = Tensor::from_slice(&[0_i64, 1, 0]);
/// let mask = Tensor::from_slice(&[true, true, false]);
/// let loss = Loss::new(Task::Classification);
/// let divisor = loss.divisor(&labels, &mask)?;
/// let (value, gradient) = loss.forward(&logits, &labels, &mask, divisor)?;
/// assert!((value - 0.220095).abs() < 1e-6);
/// assert_eq!(gradient.double_value(&[2, 0]), 0.0);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Loss {
    task: Task,
    /// A factor per class, `double [classes]`.
    class_weights: Option<Tensor>,
}

impl Clone for Loss {
    fn clone(&self) -> Self {
        let class_weights = self.class_weights.as_ref().map(Tensor::shallow_clone);
        Loss { task: self.task, class_weights }
    }
}

impl Loss {
    /// The loss of a task without class weights.
    pub fn new(task: Task) -> Self {
        Loss { task, class_weights: None }
    }

    /// The loss of a task with a weight per class: for each node of the class (classification) or each positive label
    /// (multilabel).
    ///
    /// # Errors
    /// If memory for the weights runs out (`Tensor`).
    pub fn weighted(task: Task, weights: &[f64]) -> Result<Self> {
        Ok(Loss { task, class_weights: Some(Tensor::f_from_slice(weights)?) })
    }

    /// The task to which the loss belongs.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Divisor that turns the sum over these rows into PyTorch's mean: the number of rows, or the sum of their class
    /// weights (classification); the number of labels (multilabel, regression). Add up the divisors of all ranks before you pass the
    /// sum to [`forward`](Loss::forward).
    ///
    /// # Errors
    /// If the labels do not fit the mask or the classes (`Tensor`).
    pub fn divisor(&self, labels: &Tensor, mask: &Tensor) -> Result<f64> {
        let rows = mask.f_sum(Kind::Int64)?.f_int64_value(&[])?;
        match (self.task, &self.class_weights) {
            (Task::Classification, None) => Ok(rows as f64),
            (Task::Classification, Some(weights)) => {
                let weights = weights.f_index_select(0, &labels.f_masked_select(mask)?)?;
                Ok(weights.f_sum(Kind::Double)?.f_double_value(&[])?)
            }
            (Task::Multilabel | Task::Regression, _) => {
                Ok((rows * labels.size().get(1).copied().unwrap_or(1)) as f64)
            }
        }
    }

    /// Sum over the rows in `mask`, divided by `divisor` (summed over all ranks), and its gradient with respect to the
    /// logits. The results of all ranks add up to the loss, which is 0 without rows.
    ///
    /// The sum is computed in blocks of rows that are added in order: same bits with any number of threads.
    ///
    /// # Errors
    /// If logits, labels and mask do not fit each other (`Tensor`).
    pub fn forward(
        &self,
        logits: &Tensor,
        labels: &Tensor,
        mask: &Tensor,
        divisor: f64,
    ) -> Result<(f64, Tensor)> {
        let gradient = tensor::zeros(&logits.size(), logits.kind())?;
        if divisor == 0.0 && mask.f_sum(Kind::Int64)?.f_int64_value(&[])? == 0 {
            return Ok((0.0, gradient));
        }
        let weights =
            self.class_weights.as_ref().map(|w| w.f_to_kind(logits.kind())).transpose()?;
        let weights = weights.as_ref().map(Shared);
        let (task, rows) = (self.task, logits.size()[0]);
        let (logits, labels, mask) = (Shared(logits), Shared(labels), Shared(mask));
        let all_gradients = Shared(&gradient);
        let sums = map_row_blocks(rows, |start, len| {
            let chosen = mask.rows(start, len)?.f_nonzero()?.f_squeeze_dim(1)?;
            if chosen.numel() == 0 {
                return Ok(0.0);
            }
            let logits = logits.rows(start, len)?.f_index_select(0, &chosen)?;
            let labels = labels.rows(start, len)?.f_index_select(0, &chosen)?;
            let weights = weights.map(Shared::whole);
            let (losses, part) = match task {
                Task::Classification => cross_entropy(&logits, &labels, weights.as_ref())?,
                Task::Multilabel => binary_cross_entropy(&logits, &labels, weights.as_ref())?,
                Task::Regression => squared_error(&logits, &labels)?,
            };
            let part = part.f_div_scalar(divisor)?;
            let _written = all_gradients.rows(start, len)?.f_index_copy_(0, &chosen, &part)?;
            Ok(losses.f_sum(Kind::Double)?.f_double_value(&[])?)
        })?;
        Ok((sums.iter().sum::<f64>() / divisor, gradient))
    }
}

/// Squared errors and gradients of all elements.
fn squared_error(outputs: &Tensor, labels: &Tensor) -> Result<(Tensor, Tensor)> {
    let labels = labels.f_to_kind(outputs.kind())?.f_view_as(outputs)?;
    let difference = outputs.f_sub(&labels)?;
    Ok((difference.f_square()?, difference.f_mul_scalar(2.0)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::ScoreSums;

    #[test]
    fn numbers_to_learn_may_be_a_vector_and_no_rows_have_no_loss() {
        let outputs = Tensor::from_slice(&[1.0, 3.0, 9.0]).view([3, 1]);
        let labels = Tensor::from_slice(&[2.0, 5.0, 0.0]);
        let mask = Tensor::from_slice(&[true, true, false]);
        let loss = Loss::new(Task::Regression);
        let divisor = loss.divisor(&labels, &mask).unwrap();
        let (value, gradient) = loss.forward(&outputs, &labels, &mask, divisor).unwrap();
        assert_eq!((divisor, value), (2.0, 2.5));
        assert_eq!(Vec::<f64>::try_from(gradient.view([3])).unwrap(), [-1.0, -2.0, 0.0]);
        let sums = ScoreSums::new(Task::Regression, &outputs, &labels, &mask).unwrap();
        assert_eq!(sums.score(Task::Regression, 2, 1), Some(2.5));
        let none = Tensor::from_slice(&[false; 3]);
        let (value, gradient) = loss.forward(&outputs, &labels, &none, 0.0).unwrap();
        assert_eq!((value, gradient.size()), (0.0, vec![3, 1]));
    }
}
