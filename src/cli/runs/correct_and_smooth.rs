//! `correct-and-smooth`: predictions improved with the labels of training nodes.

use clap::{Arg, Args};

use super::predict::{PredictArgs, run};
use crate::nn::{CorrectAndSmooth, LabelPropagation};
use crate::prepare::partition::GraphAdditions;
use crate::words::error::{Error, Result};

/// Predict all nodes, and improve the predictions by propagating labels of training nodes
///
/// Propagates the errors on training nodes to their neighbours, corrects them there, and smooths the predictions along edges
/// (Huang et al. 2021). The defaults come from DGL's example. --output logits writes scores from 0 to 1.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true, mut_args(own))]
pub(in crate::cli) struct CorrectAndSmoothArgs {
    #[command(flatten)]
    predict: PredictArgs,
    /// Steps in which errors are propagated
    #[arg(long, value_name = "N", default_value_t = usual().correction.steps)]
    correction_steps: usize,
    /// Share of the neighbours in each step of the correction
    #[arg(long, value_name = "SHARE", default_value_t = usual().correction.alpha)]
    correction_alpha: f64,
    /// Factor of propagated errors [default: scale them to the mean size of training nodes' errors]
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f64>,
    /// Steps in which corrected predictions are propagated
    #[arg(long, value_name = "N", default_value_t = usual().smoothing.steps)]
    smoothing_steps: usize,
    /// Share of the neighbours in each step of the smoothing
    #[arg(long, value_name = "SHARE", default_value_t = usual().smoothing.alpha)]
    smoothing_alpha: f64,
}

/// Flags of `predict` that have no effect here.
pub(in crate::cli) const WITHOUT_EFFECT: [&str; 4] = ["layer", "pairs", "top_k", "of"];

/// A flag of `predict`, as this command shows it.
fn own(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "output" => arg.hide_possible_values(true).help(
            "Form of the predictions: classes, or logits for scores from 0 to 1 [default: classes]",
        ),
        "split" => arg.help("Predict only the nodes of this mask, or all nodes"),
        id if WITHOUT_EFFECT.contains(&id) => arg.hide(true),
        _ => arg,
    }
}

/// Largest number of steps; propagation converges long before.
const MOST_STEPS: usize = 10_000;
/// Largest factor; errors are from -1 to 1.
const LARGEST_SCALE: f64 = 1e6;

fn usual() -> CorrectAndSmooth {
    CorrectAndSmooth::default()
}

/// Predicts and improves the predictions.
pub(in crate::cli) fn correct_and_smooth(args: CorrectAndSmoothArgs) -> Result<()> {
    let CorrectAndSmoothArgs { correction_steps, correction_alpha, .. } = args;
    let CorrectAndSmoothArgs { smoothing_steps, smoothing_alpha, scale, .. } = args;
    for (flag, alpha) in
        [("--correction-alpha", correction_alpha), ("--smoothing-alpha", smoothing_alpha)]
    {
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Error::config(flag, format!("must be from 0 to 1, not {alpha}")));
        }
    }
    for (flag, steps) in
        [("--correction-steps", correction_steps), ("--smoothing-steps", smoothing_steps)]
    {
        if steps > MOST_STEPS {
            return Err(Error::config(flag, format!("must be {MOST_STEPS} or less, not {steps}")));
        }
    }
    if let Some(scale) = scale.filter(|scale| !(-LARGEST_SCALE..=LARGEST_SCALE).contains(scale)) {
        let problem = format!("must be a number of at most {LARGEST_SCALE:e}, not {scale}");
        return Err(Error::config("--scale", problem));
    }
    let how = CorrectAndSmooth {
        correction: LabelPropagation { steps: correction_steps, alpha: correction_alpha },
        smoothing: LabelPropagation { steps: smoothing_steps, alpha: smoothing_alpha },
        scale,
    };
    run(args.predict, GraphAdditions::default(), Some(how))
}
