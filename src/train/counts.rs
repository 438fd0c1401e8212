//! Loss and scores as sums over ranks.

use tch::{Kind, Tensor};

use crate::engine::spill::Masks;
use crate::event::{Metric, Scores};
use crate::nn::{ScoreSums, Task};
use crate::words::error::{Error, Result};

impl Task {
    /// Metric of each epoch's score, which early stopping watches.
    pub fn metric(self) -> Metric {
        match self {
            Task::Classification => Metric::Accuracy,
            Task::Multilabel => Metric::F1Micro,
            Task::Regression => Metric::MeanSquaredError,
        }
    }
}

/// Number of nodes in each mask, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Number of training nodes.
    pub train: i64,
    /// Number of validation nodes.
    pub val: i64,
    /// Number of test nodes.
    pub test: i64,
}

impl Totals {
    /// The scores that `score` computes for the index of each mask and its number of nodes.
    pub(super) fn scores(
        self,
        metric: Metric,
        score: impl Fn(usize, i64) -> Option<f64>,
    ) -> Scores {
        let Totals { train, val, test } = self;
        Scores { metric, train: score(0, train), val: score(1, val), test: score(2, test) }
    }
}

/// One rank's part of the mean loss, and of each mask's sums for the task's score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Counts {
    loss: f64,
    sums: [ScoreSums; 3],
}

impl Counts {
    pub(super) fn new(
        loss: f64,
        task: Task,
        logits: &Tensor,
        labels: &Tensor,
        masks: &Masks,
    ) -> Result<Self> {
        let mut sums = [ScoreSums::default(); 3];
        for (sums, mask) in sums.iter_mut().zip([&masks.train, &masks.val, &masks.test]) {
            *sums = ScoreSums::new(task, logits, labels, &*mask.pin()?)?;
        }
        Ok(Counts { loss, sums })
    }

    pub(super) fn to_tensor(self) -> Result<Tensor> {
        let mut numbers = vec![self.loss];
        numbers.extend(self.sums.iter().flat_map(|sums| sums.0));
        Ok(Tensor::f_from_slice(&numbers)?)
    }

    pub(super) fn from_tensor(numbers: &Tensor) -> Result<Self> {
        let numbers: Vec<f64> = Vec::try_from(numbers.f_to_kind(Kind::Double)?)?;
        let [loss, a, b, c, d, e, f, g, h, i] = numbers[..] else {
            return Err(Error::internal("counts have another layout"));
        };
        Ok(Counts { loss, sums: [[a, b, c], [d, e, f], [g, h, i]].map(ScoreSums) })
    }

    /// Mean loss and scores, from the sums over all ranks.
    pub(super) fn over(self, task: Task, totals: Totals, outputs: i64) -> (f64, Scores) {
        let score = |mask: usize, nodes| self.sums[mask].score(task, nodes, outputs);
        (self.loss, totals.scores(task.metric(), score))
    }
}
