//! The task that a model learns.

use serde::{Deserialize, Serialize};

use crate::words::choice::choices;

choices! {
    /// Task of a model; it determines the loss, the form of labels and the metrics.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Task {
        /// One class per node: cross entropy of labels `int64 [n]`
        @default Classification = "classification",
        /// Any number of classes per node: binary cross entropy of labels `[n, classes]`, 0 or 1
        Multilabel = "multilabel",
        /// Numbers: mean squared error to labels `[n]` or `[n, outputs]`
        Regression = "regression",
    }
}

impl Task {
    /// Whether each output is a class.
    pub fn has_classes(self) -> bool {
        self != Task::Regression
    }
}
