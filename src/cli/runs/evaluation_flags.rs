//! Flags of evaluations between epochs and at the end.

use super::setting::settings;
use crate::cli::flags::choice::choice;
use crate::train::{EvaluationConfig, ExtraMetric, Fanouts, Keep};

settings! {
    /// Flags of evaluations.
    pub(in crate::cli) struct EvaluationArgs, fields "evaluation." of EvaluationConfig {
        /// Evaluate without dropout after every N epochs [default: at the end; every epoch with --patience, --schedule plateau or
        /// --keep best]
        #[arg(long, value_name = "N", help_heading = "Training")]
        eval_every: Option<u32> => every; Updates,
        /// Evaluate epochs on sampled neighbourhoods in --mode sample, written as --fanouts [default: on the full graph]; the
        /// evaluation at the end is always on the full graph
        #[arg(long, value_name = "N,N,...", allow_hyphen_values = true, help_heading = "Training")]
        eval_fanouts: Option<Fanouts> => fanouts; Neighbours Samples Updates,
        /// Weights that training ends with [default: best with --patience, else last]
        #[arg(long, value_parser = choice::<Keep>(), help_heading = "Training")]
        keep: Option<Keep> => keep; Updates,
        /// Metrics of the evaluation at the end that take long
        #[arg(long, value_parser = choice::<ExtraMetric>(), value_delimiter = ',', help_heading = "Training")]
        metrics: Vec<ExtraMetric> => metrics; Updates,
    }
}
