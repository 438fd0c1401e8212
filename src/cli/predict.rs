//! `predict`: classes or logits of all nodes.

use crate::run;
use std::path::{Path, PathBuf};

use clap::Args;

use super::choice::choice;
use super::fields::with_flags;
use super::output::print;
use super::resume::absolute;
use crate::choice::Choice;
use crate::error::{Error, Result};
use crate::event::{Event, show_note};
use crate::io::read_input;
use crate::nn::CorrectAndSmooth;
use crate::run::CONFIG;
use crate::run::config::RunConfig;
use crate::run::rank::{NodeOrder, PredictConfig, Prediction, WEIGHTS};

/// Predict all nodes of a graph with trained weights
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(super) struct PredictArgs {
    /// Folder of a training run, with its model, its data keys and its weights
    #[arg(long, value_name = "DIR")]
    run: PathBuf,
    /// File of predictions, .npy or .safetensors
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Form of the predictions [default: classes; logits after a regression, and after --task link]
    #[arg(long, value_parser = choice::<Prediction>())]
    output: Option<Prediction>,
    /// Order of the rows; in a heterogeneous graph, node types follow one another
    #[arg(long, value_parser = choice::<NodeOrder>(), default_value = NodeOrder::default().name())]
    order: NodeOrder,
    /// Weights to use [default: those of the run]
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Graph to predict [default: the one of the run]
    #[arg(long, value_name = "FILE")]
    part_json: Option<PathBuf>,
    /// Folder for spilled data, on a disk with room [default: the one of the run]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
    /// Workers that may be in memory at a time [default: 2 where the memory budget allows it, else 1]
    #[arg(long, value_name = "K")]
    resident: Option<usize>,
    /// Threads of a worker [default: those of the run]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Predicts nodes.
pub(super) fn predict(args: PredictArgs) -> Result<()> {
    run(args, None)
}

/// Predicts nodes, and corrects and smooths the predictions if requested.
pub(super) fn run(args: PredictArgs, correct_and_smooth: Option<CorrectAndSmooth>) -> Result<()> {
    let mut run = read_config(&args.run)?;
    // The run may have been moved.
    run.out = absolute(args.run)?;
    run.resident = args.resident;
    run.threads = args.threads.unwrap_or(run.threads);
    run.part_json = args.part_json.unwrap_or(run.part_json);
    run.spill_dir = args.spill_dir.unwrap_or(run.spill_dir);
    let usual = match &run.link {
        Some(_) => Prediction::Logits,
        None => Prediction::usual(run.task),
    };
    let prediction = args.output.unwrap_or(usual);
    let weights = args.weights.map(absolute).transpose()?.unwrap_or_else(|| run.out.join(WEIGHTS));
    let config = PredictConfig {
        run,
        weights,
        prediction,
        order: args.order,
        correct_and_smooth,
        output: args.out,
    };
    run::predict(&config, &mut |event| {
        if let Event::Note(text) = event {
            show_note(&with_flags(text));
        }
    })?;
    print(&format!("{}\n", config.output.display()))
}

fn read_config(run: &Path) -> Result<RunConfig> {
    let path = run.join(CONFIG);
    let text = read_input(&path).map_err(|e| {
        Error::unreadable(&path, &e).with_hint("--run takes the folder a training run wrote")
    })?;
    RunConfig::from_toml(&path, &text)
}
