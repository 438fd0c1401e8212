//! The evaluations of epochs, and the choice of a run's final weights.

use serde::{Deserialize, Serialize};

use super::fanouts::Fanouts;
use crate::words::choice::choices;
use crate::words::error::Result;

choices! {
    /// The final weights of training.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Keep {
        /// The weights after the last epoch.
        Last = "last": "Those after the last epoch",
        /// The weights after the epoch with the best validation metric.
        Best = "best": "Those after the epoch with the best validation metric",
    }
}

choices! {
    /// A metric that is only computed on request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ExtraMetric {
        /// The area under the ROC curve of more than two classes, each against all others; with two classes it is
        /// always computed
        RocAuc = "roc_auc",
    }
}

/// The evaluations of epochs, and the choice of a run's final weights.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EvaluationConfig {
    /// Number of epochs between evaluations; `None` evaluates at the end, and, if epochs are compared, after every
    /// epoch.
    pub every: Option<u32>,
    /// Number of in-edges drawn per node in evaluations between epochs on samples; `None` evaluates on the full graph.
    /// The final evaluation is always on the full graph.
    pub fanouts: Option<Fanouts>,
    /// Final weights; `None` means the best ones with early stopping, otherwise the last ones.
    pub keep: Option<Keep>,
    /// Expensive metrics of the final evaluation.
    pub metrics: Vec<ExtraMetric>,
}

impl EvaluationConfig {
    /// Checks that the fan-outs are for `layers` layers.
    ///
    /// # Errors
    /// If their number differs.
    pub fn check(&self, layers: usize) -> Result<()> {
        let fanouts = self.fanouts.as_ref();
        fanouts.map_or(Ok(()), |fanouts| fanouts.check(layers, "evaluation.fanouts"))
    }
}
