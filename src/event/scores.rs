//! Metrics and their values.

use serde::{Deserialize, Serialize};

/// A measure of prediction quality, defined as in scikit-learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// Share of nodes that are classified correctly.
    Accuracy,
    /// F1 score of all classes' counts together.
    F1Micro,
    /// Mean over classes of the F1 score.
    F1Macro,
    /// Mean over classes of the area under the ROC curve, without classes that all nodes have, or none.
    RocAuc,
    /// Mean of squared differences.
    MeanSquaredError,
    /// Mean over edges of 1 / rank of the edge's score among the scores of pairs drawn for it.
    MeanReciprocalRank,
    /// Mean over edges of 1 / rank of the edge's score among those of all pairs with one of its ends that are not edges.
    FilteredReciprocalRank,
    /// Share of these ranks that are 1.
    HitsAt1,
    /// Share of these ranks that are 3 or less.
    HitsAt3,
    /// Share of these ranks that are 10 or less.
    HitsAt10,
}

impl Metric {
    /// The metrics of training and evaluation.
    pub const ALL: [Metric; 6] = [
        Metric::Accuracy,
        Metric::F1Micro,
        Metric::F1Macro,
        Metric::MeanReciprocalRank,
        Metric::RocAuc,
        Metric::MeanSquaredError,
    ];

    /// Key in `metrics.jsonl`, which follows the name of the mask.
    pub fn key(self) -> &'static str {
        self.names().0
    }

    /// Name of the metric for people.
    pub fn name(self) -> &'static str {
        self.names().1
    }

    /// The key, and the name for people.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Metric::Accuracy => ("acc", "accuracy"),
            Metric::F1Micro => ("f1_micro", "F1 micro"),
            Metric::F1Macro => ("f1_macro", "F1 macro"),
            Metric::RocAuc => ("roc_auc", "ROC AUC"),
            Metric::MeanSquaredError => ("mse", "mean squared error"),
            Metric::MeanReciprocalRank => ("mrr", "mean reciprocal rank"),
            Metric::FilteredReciprocalRank => ("filtered_mrr", "filtered MRR"),
            Metric::HitsAt1 => ("hits@1", "Hits@1"),
            Metric::HitsAt3 => ("hits@3", "Hits@3"),
            Metric::HitsAt10 => ("hits@10", "Hits@10"),
        }
    }

    /// Whether larger values mean better predictions.
    pub fn more_is_better(self) -> bool {
        self != Metric::MeanSquaredError
    }

    /// Formats a value for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Metric::Accuracy => format!("{:.2} %", 100.0 * value),
            Metric::MeanSquaredError => format!("{value:.4e}"),
            _ => format!("{value:.4}"),
        }
    }
}

/// A metric's values over the nodes of each mask; `None` where a mask has no nodes for which the metric is defined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The metric.
    pub metric: Metric,
    /// Value over training nodes.
    pub train: Option<f64>,
    /// Value over validation nodes.
    pub val: Option<f64>,
    /// Value over test nodes.
    pub test: Option<f64>,
}

impl Scores {
    /// The values with the names of their masks.
    pub fn named(&self) -> [(&'static str, Option<f64>); 3] {
        [("train", self.train), ("val", self.val), ("test", self.test)]
    }
}

/// Quality of predictions, over all ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictionScores {
    /// Whether the predictions have been corrected and smoothed.
    pub corrected: bool,
    /// Scores of each nonempty set of nodes.
    pub sets: Vec<SetScores>,
}

/// The scores of a set of nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetScores {
    /// Name of the set: `train`, `val`, `test` or `all labelled`; of edges also `test sources` and others.
    pub name: String,
    /// Number of its nodes, or of its edges.
    pub nodes: u64,
    /// Values of metrics.
    pub scores: Vec<(Metric, f64)>,
}

/// Confusion tables: numbers of nodes by class and predicted class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// Table over training nodes, a row per class; empty where the mask has no nodes, as below. With one class per
    /// node, row c counts the nodes of class c by predicted class. With several classes per node, row c holds the
    /// class's true negatives, false positives, false negatives and true positives.
    pub train: Vec<Vec<u64>>,
    /// Table over validation nodes.
    pub val: Vec<Vec<u64>>,
    /// Table over test nodes.
    pub test: Vec<Vec<u64>>,
}

impl Confusion {
    /// The tables with the names of their masks.
    pub fn named(&self) -> [(&'static str, &[Vec<u64>]); 3] {
        [("train", &self.train), ("val", &self.val), ("test", &self.test)]
    }
}
