//! The epoch with the best validation.

use serde_json::Value;

use crate::event::Metric;
use crate::run::RunData;

/// An evaluated epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestValidation {
    /// Number of the epoch.
    pub epoch: u64,
    /// The validation metric, without dropout.
    pub score: f64,
}

impl BestValidation {
    /// The best epoch in lines of metrics; of equal scores the first, whose weights are kept. `None` if no epoch was evaluated.
    pub fn of(lines: &[Value], metric: Metric) -> Option<Self> {
        let scores = lines.iter().filter(|line| line["event"] == "epoch").filter_map(|line| {
            let (epoch, score) = (line["epoch"].as_u64()?, line["validation"].as_f64()?);
            Some(BestValidation { epoch, score })
        });
        let better =
            |new: f64, old: f64| if metric.more_is_better() { new > old } else { new < old };
        scores.reduce(|best, new| if better(new.score, best.score) { new } else { best })
    }
}

/// The metric by which a run was validated, and its best epoch.
pub(super) fn best_of(run: &RunData) -> Option<(Metric, BestValidation)> {
    let validated = run.epochs.iter().find(|line| line["validation"].is_number())?;
    let metric = Metric::ALL
        .into_iter()
        .find(|metric| validated[format!("val_{}", metric.key())] == validated["validation"])?;
    Some((metric, BestValidation::of(&run.epochs, metric)?))
}
