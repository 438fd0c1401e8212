//! Flags of evaluations between epochs and at the end.

use clap::Args;

use super::choice::choice;
use crate::train::{EvaluationConfig, ExtraMetric, Fanouts, Keep};

/// Flags of evaluations.
#[derive(Debug, Args)]
pub(super) struct EvaluationArgs {
    /// Evaluate without dropout after every N epochs [default: at the end; every epoch with --patience, --schedule plateau or
    /// --keep best]
    #[arg(long, value_name = "N", help_heading = "Training")]
    eval_every: Option<u32>,
    /// Evaluate epochs on sampled neighbourhoods in --mode sample, written as --fanouts [default: on the full graph]; the
    /// evaluation at the end is always on the full graph
    #[arg(long, value_name = "N,N,...", allow_hyphen_values = true, help_heading = "Training")]
    eval_fanouts: Option<Fanouts>,
    /// Weights that training ends with [default: best with --patience, else last]
    #[arg(long, value_parser = choice::<Keep>(), help_heading = "Training")]
    keep: Option<Keep>,
    /// Metrics of the evaluation at the end that take long
    #[arg(long, value_parser = choice::<ExtraMetric>(), value_delimiter = ',', help_heading = "Training")]
    metrics: Vec<ExtraMetric>,
}

impl EvaluationArgs {
    /// The configuration.
    pub(super) fn config(self) -> EvaluationConfig {
        let EvaluationArgs { eval_every, eval_fanouts, keep, mut metrics } = self;
        metrics.dedup();
        EvaluationConfig { every: eval_every, fanouts: eval_fanouts, keep, metrics }
    }
}
