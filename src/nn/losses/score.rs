//! The score of a task, computed in every epoch along with the loss.

use tch::{Kind, Tensor};

use super::task::Task;
use crate::engine::tensor::{Shared, map_row_blocks};
use crate::words::error::{Error, Result};

/// Sums over nodes from which a task's score is computed. Sums of ranks and blocks of rows are added.
///
/// Classification: nodes classified correctly. Multilabel: true positives, false positives, false negatives over all classes.
/// Regression: squared errors. Unused elements are 0.
///
/// ```
/// use sar::nn::{ScoreSums, Task};
/// use tch::Tensor;
///
/// let logits = Tensor::from_slice(&[2.0, 0.0, 0.0, 1.0, 5.0, 1.0]).view([3, 2]);
/// let labels = Tensor::from_slice(&[0_i64, 1, 1]);
/// let mask = Tensor::from_slice(&[true, false, true]);
/// let sums = ScoreSums::new(Task::Classification, &logits, &labels, &mask)?;
/// assert_eq!(sums.score(Task::Classification, 2, 2), Some(0.5));
/// # Ok::<(), sar::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScoreSums(pub [f64; 3]);

impl ScoreSums {
    /// The sums of the rows in `mask`; logits and labels have the form that [`Loss`](crate::nn::Loss) takes. A class is
    /// predicted if its logit is the largest (classification), or above 0 (multilabel); in classification, a row with a NaN is
    /// never correct.
    ///
    /// # Errors
    /// If logits, labels and mask do not fit each other (`Tensor`).
    pub fn new(task: Task, logits: &Tensor, labels: &Tensor, mask: &Tensor) -> Result<Self> {
        let rows = logits.size()[0];
        let (logits, labels, mask) = (Shared(logits), Shared(labels), Shared(mask));
        let blocks = map_row_blocks(rows, |start, len| {
            let chosen = mask.rows(start, len)?.f_nonzero()?.f_squeeze_dim(1)?;
            if chosen.numel() == 0 {
                return Ok([0.0; 3]);
            }
            let logits = logits.rows(start, len)?.f_index_select(0, &chosen)?;
            let labels = labels.rows(start, len)?.f_index_select(0, &chosen)?;
            block(task, &logits, &labels)
        })?;
        let add = |a: [f64; 3], b: [f64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        Ok(ScoreSums(blocks.into_iter().fold([0.0; 3], add)))
    }

    /// The score of `nodes` nodes with `outputs` outputs each: accuracy, micro-averaged F1 or mean squared error; `None`
    /// without nodes.
    pub fn score(self, task: Task, nodes: i64, outputs: i64) -> Option<f64> {
        let [first, second, third] = self.0;
        (nodes > 0).then(|| match task {
            Task::Classification => first / nodes as f64,
            Task::Multilabel => f1(first, second, third),
            Task::Regression => first / (nodes * outputs) as f64,
        })
    }
}

/// 2 TP / (2 TP + FP + FN); 0 where nothing is positive, as in scikit-learn.
///
/// ```
/// assert_eq!(sar::nn::f1(2.0, 1.0, 3.0), 0.5);
/// assert_eq!(sar::nn::f1(0.0, 0.0, 0.0), 0.0);
/// ```
pub fn f1(true_positive: f64, false_positive: f64, false_negative: f64) -> f64 {
    let all = 2.0 * true_positive + false_positive + false_negative;
    if all == 0.0 { 0.0 } else { 2.0 * true_positive / all }
}

fn block(task: Task, logits: &Tensor, labels: &Tensor) -> Result<[f64; 3]> {
    let count = |of: &Tensor| Ok::<_, Error>(of.f_sum(Kind::Double)?.f_double_value(&[])?);
    match task {
        Task::Classification => {
            let (largest, predicted) = logits.f_max_dim(1, false)?;
            // A row with a NaN predicts nothing.
            let right =
                predicted.f_eq_tensor(labels)?.f_logical_and(&largest.f_eq_tensor(&largest)?)?;
            Ok([count(&right)?, 0.0, 0.0])
        }
        Task::Multilabel => {
            let (predicted, actual) = (logits.f_gt(0)?, labels.f_ne(0)?);
            let right = count(&predicted.f_logical_and(&actual)?)?;
            Ok([right, count(&predicted)? - right, count(&actual)? - right])
        }
        Task::Regression => {
            let labels = labels.f_to_kind(Kind::Double)?.f_view_as(logits)?;
            let difference = logits.f_to_kind(Kind::Double)?.f_sub(&labels)?;
            Ok([count(&difference.f_square()?)?, 0.0, 0.0])
        }
    }
}
