//! Metrics and their values.

use serde::{Deserialize, Serialize};

/// A number that says how good predictions are; definitions are scikit-learn's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// Share of nodes that are classified right.
    Accuracy,
    /// F1 of all classes' counts taken together.
    F1Micro,
    /// Mean over classes of F1.
    F1Macro,
    /// Mean over classes of the area under the ROC curve; classes that all nodes have, or none, are left out.
    RocAuc,
    /// Mean of squared differences.
    MeanSquaredError,
    /// Mean over edges of 1 / rank of the edge's score among those of pairs drawn for it.
    MeanReciprocalRank,
}

impl Metric {
    /// What `metrics.jsonl` calls it, behind the name of the nodes it is taken over.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Accuracy => "acc",
            Metric::F1Micro => "f1_micro",
            Metric::F1Macro => "f1_macro",
            Metric::RocAuc => "roc_auc",
            Metric::MeanSquaredError => "mse",
            Metric::MeanReciprocalRank => "mrr",
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Accuracy => "accuracy",
            Metric::F1Micro => "F1 micro",
            Metric::F1Macro => "F1 macro",
            Metric::RocAuc => "ROC AUC",
            Metric::MeanSquaredError => "mean squared error",
            Metric::MeanReciprocalRank => "mean reciprocal rank",
        }
    }

    /// Whether predictions with a larger value are the better ones.
    pub fn more_is_better(self) -> bool {
        self != Metric::MeanSquaredError
    }

    /// A value for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Metric::Accuracy => format!("{:.2} %", 100.0 * value),
            Metric::MeanSquaredError => format!("{value:.4e}"),
            _ => format!("{value:.4}"),
        }
    }
}

/// A metric's value over the nodes of each mask; `None` where a mask has no nodes, or none that the metric is defined for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Which metric.
    pub metric: Metric,
    /// Over training nodes.
    pub train: Option<f64>,
    /// Over validation nodes.
    pub val: Option<f64>,
    /// Over test nodes.
    pub test: Option<f64>,
}

impl Scores {
    /// The values with the names of their masks.
    pub fn named(&self) -> [(&'static str, Option<f64>); 3] {
        [("train", self.train), ("val", self.val), ("test", self.test)]
    }
}

/// How often which class was taken for which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// Over training nodes, a row per class; empty where the mask has no nodes, likewise below. With one class per node,
    /// row c counts the nodes of class c by predicted class; with several, it has the class's true negatives, false
    /// positives, false negatives and true positives.
    pub train: Vec<Vec<u64>>,
    /// Over validation nodes.
    pub val: Vec<Vec<u64>>,
    /// Over test nodes.
    pub test: Vec<Vec<u64>>,
}

impl Confusion {
    /// The tables with the names of their masks.
    pub fn named(&self) -> [(&'static str, &[Vec<u64>]); 3] {
        [("train", &self.train), ("val", &self.val), ("test", &self.test)]
    }
}
