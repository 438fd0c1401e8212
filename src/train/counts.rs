//! Loss and accuracies as sums that ranks can add up.

use tch::{Kind, Tensor};

use crate::error::{Error, Result};
use crate::nn::accuracy_counts;
use crate::spill::Masks;

/// How many nodes each mask has over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Training nodes.
    pub train: i64,
    /// Validation nodes.
    pub val: i64,
    /// Test nodes.
    pub test: i64,
}

/// The share of each mask's nodes that is classified right; `None` for a mask without nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracies {
    /// Of training nodes.
    pub train: Option<f64>,
    /// Of validation nodes.
    pub val: Option<f64>,
    /// Of test nodes.
    pub test: Option<f64>,
}

/// One rank's part of the mean loss, and how many nodes of each mask it classifies right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Counts {
    loss: f64,
    right: [i64; 3],
}

impl Counts {
    pub(super) fn new(loss: f64, logits: &Tensor, labels: &Tensor, masks: &Masks) -> Result<Self> {
        let mut right = [0; 3];
        for (right, mask) in right.iter_mut().zip([&masks.train, &masks.val, &masks.test]) {
            *right = accuracy_counts(logits, labels, &*mask.pin()?)?.0;
        }
        Ok(Counts { loss, right })
    }

    pub(super) fn to_tensor(self) -> Result<Tensor> {
        let [train, val, test] = self.right.map(|n| n as f64);
        Ok(Tensor::f_from_slice(&[self.loss, train, val, test])?)
    }

    pub(super) fn from_tensor(sums: &Tensor) -> Result<Self> {
        let sums: Vec<f64> = Vec::try_from(sums.f_to_kind(Kind::Double)?)?;
        match sums[..] {
            [loss, train, val, test] => {
                Ok(Counts { loss, right: [train, val, test].map(|n| n as i64) })
            }
            _ => Err(Error::Internal("counts of another layout".to_owned())),
        }
    }

    /// The mean loss and the accuracies, once summed over all ranks.
    pub(super) fn over(self, totals: Totals) -> (f64, Accuracies) {
        let share = |right: i64, all: i64| (all > 0).then(|| right as f64 / all as f64);
        let [train, val, test] = self.right;
        let accuracies = Accuracies {
            train: share(train, totals.train),
            val: share(val, totals.val),
            test: share(test, totals.test),
        };
        (self.loss, accuracies)
    }
}
