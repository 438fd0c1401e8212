//! The task that a model learns.

use serde::{Deserialize, Serialize};

use crate::choice::{Choice, Named};
use crate::event::Metric;

/// Task of a model; it determines the loss, the form of labels and the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// One class per node: cross entropy of labels `int64 [n]`
    #[default]
    Classification,
    /// Any number of classes per node: binary cross entropy of labels `[n, classes]`, 0 or 1
    Multilabel,
    /// Numbers: mean squared error to labels `[n]` or `[n, outputs]`
    Regression,
}

impl Choice for Task {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(
            Task::Classification,
            "classification",
            "One class per node: cross entropy of labels `int64 [n]`",
        ),
        Named::new(
            Task::Multilabel,
            "multilabel",
            "Any number of classes per node: binary cross entropy of labels `[n, classes]`, 0 or 1",
        ),
        Named::new(
            Task::Regression,
            "regression",
            "Numbers: mean squared error to labels `[n]` or `[n, outputs]`",
        ),
    ];
}

impl Task {
    /// Metric of each epoch's score, which early stopping watches.
    pub fn metric(self) -> Metric {
        match self {
            Task::Classification => Metric::Accuracy,
            Task::Multilabel => Metric::F1Micro,
            Task::Regression => Metric::MeanSquaredError,
        }
    }

    /// Whether each output is a class.
    pub fn has_classes(self) -> bool {
        self != Task::Regression
    }
}
