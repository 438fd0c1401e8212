//! `predict`: classes, probabilities, logits or embeddings of nodes.

use crate::run;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::budget::budget_here;
use super::evaluation::{prediction_event, prediction_table};
use super::paths::{absolute, absolute_output};
use crate::cli::flags::choice::choice;
use crate::cli::flags::fields::with_flags;
use crate::cli::show::output::{check_output, print_output};
use crate::cli::show::shell_word::shell_word;
use crate::event::{Console, Event, Voice, show_event, show_status, voice};
use crate::io::read_input;
use crate::nn::CorrectAndSmooth;
use crate::prepare::import::OriginalIdsFile;
use crate::prepare::partition::GraphAdditions;
use crate::run::CONFIG;
use crate::run::config::{MemoryBudget, OwnPartitions, RunConfig};
use crate::run::rank::{
    LinkQuery, NodeOrder, NodeSelection, PredictConfig, Prediction, PredictionFormat, SplitName,
    WEIGHTS,
};
use crate::words::error::{Error, Result};

/// Predict nodes of a graph with trained weights
///
/// Shows scores of the predictions if the graph has labels.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(in crate::cli) struct PredictArgs {
    /// Folder of a training run, with its model, its data keys and its weights
    #[arg(long, value_name = "DIR")]
    run: PathBuf,
    /// File of predictions: .npy, .safetensors, .csv or .parquet; - is standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
    /// Format of the file [default: from its name]
    #[arg(long, value_parser = choice::<PredictionFormat>())]
    format: Option<PredictionFormat>,
    /// Form of the predictions [default: classes; logits after a regression, and after --task link]
    #[arg(long, value_parser = choice::<Prediction>())]
    output: Option<Prediction>,
    /// Node type to predict, if the model was trained for several
    #[arg(long, value_name = "TYPE")]
    target_type: Option<String>,
    /// Hidden layer whose output --output embeddings writes, from 1 [default: the last one]
    #[arg(long, value_name = "L")]
    layer: Option<usize>,
    /// Predict only the nodes in this file, an id or a name on each line; rows are in the order of the file
    #[arg(long, value_name = "FILE", conflicts_with = "split")]
    nodes: Option<PathBuf>,
    /// Predict only the nodes of this mask, or all nodes; after --task link: rank its edges among all pairs with one of their ends
    #[arg(long, value_parser = choice::<SplitName>())]
    split: Option<SplitName>,
    /// Score the pairs of nodes in this file, two ids or names on each line (after --task link)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nodes", "split", "output", "target_type", "layer", "top_k"])]
    pairs: Option<PathBuf>,
    /// Find the K best partners of each node to which it has no edge yet (after --task link)
    #[arg(long, value_name = "K", conflicts_with_all = ["nodes", "split", "output", "target_type", "layer"])]
    top_k: Option<usize>,
    /// Find partners only of the nodes in this file, or of the node with this id or name [default: of all nodes]
    #[arg(long, value_name = "FILE|NODE")]
    of: Option<PathBuf>,
    /// Order of the rows, and ids of nodes in files; node types follow one another [default: original, if original ids are known;
    /// else partition]
    #[arg(long, value_parser = choice::<NodeOrder>())]
    order: Option<NodeOrder>,
    /// File with the original id of every node of the partitions, from torch.save or numpy: the first mapping that DGL's
    /// partition_graph(return_mapping=True) returns; TYPE=FILE for one of several node types [default: ids in the partitions]
    #[arg(long, value_name = "FILE")]
    orig_ids: Vec<PathBuf>,
    /// Weights to use [default: the run's]
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Graph to predict [default: the run's]
    #[arg(long, value_name = "FILE")]
    part_json: Option<PathBuf>,
    /// Folder for spilled data, on a disk with room [default: the run's]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
    /// Memory of all processes together, such as 3GiB; min = a waiting worker keeps nothing [default: the run's, or half of free
    /// memory if that is more than is free]
    #[arg(long, value_name = "SIZE")]
    memory_budget: Option<MemoryBudget>,
    /// Workers that may be in memory at a time [default: 2 where the memory budget allows it, else 1]
    #[arg(long, value_name = "K")]
    resident: Option<usize>,
    /// Threads of a worker [default: the run's]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write a timeline of every worker to this file, for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// With several machines: partitions of this one, such as 0-7 [default: those that it has; an even part, if it has all]
    #[arg(long, value_name = "LIST")]
    partitions: Option<OwnPartitions>,
}

/// Predicts nodes, and corrects and smooths the predictions if requested.
pub(in crate::cli) fn run(
    args: PredictArgs,
    added: GraphAdditions,
    correct_and_smooth: Option<CorrectAndSmooth>,
) -> Result<()> {
    predict_with(args, added, correct_and_smooth).map_err(run::end_everywhere)
}

fn predict_with(
    args: PredictArgs,
    added: GraphAdditions,
    correct_and_smooth: Option<CorrectAndSmooth>,
) -> Result<()> {
    check_output(&args.out)?;
    let mut run = read_config(&args.run)?;
    // The run may have moved.
    run.out = absolute(args.run)?;
    run.resident = args.resident;
    run.partitions = args.partitions;
    run.memory_budget = budget_here(args.memory_budget, run.memory_budget);
    run.threads = args.threads.unwrap_or(run.threads);
    run.part_json = args.part_json.unwrap_or(run.part_json);
    run.spill_dir = args.spill_dir.unwrap_or(run.spill_dir);
    let usual = match &run.link {
        Some(_) => Prediction::Logits,
        None => Prediction::usual(run.task),
    };
    let (split, ranked) = match args.split {
        Some(split) if run.link.is_some() && split != SplitName::All => (None, Some(split)),
        split => (split, None),
    };
    let prediction = args.output.unwrap_or(usual);
    let weights = args.weights.map_or_else(|| weights_of(&run.out), absolute)?;
    let links = match (args.pairs, args.top_k) {
        (Some(path), _) => Some(LinkQuery::Pairs(path)),
        (None, Some(count)) => Some(LinkQuery::Partners { count, of: args.of }),
        (None, None) => ranked.map(LinkQuery::Ranks),
    };
    let predicts_new = !added.nodes.is_empty() && links.is_none();
    let config = PredictConfig {
        added,
        weights,
        prediction,
        target_type: args.target_type,
        layer: args.layer,
        nodes: match (args.nodes, split) {
            (Some(path), _) => NodeSelection::Listed(path),
            (None, Some(SplitName::All)) => NodeSelection::All,
            (None, Some(split)) => NodeSelection::Split(split),
            (None, None) if predicts_new => NodeSelection::New,
            (None, None) => NodeSelection::All,
        },
        links,
        order: args.order,
        orig_ids: args.orig_ids.into_iter().map(original_ids).collect(),
        correct_and_smooth,
        overwrite: args.overwrite,
        format: args.format,
        trace: args.trace.map(absolute_output).transpose()?,
        ..PredictConfig::new(run, args.out)
    };
    let console = Console::new(0);
    let mut before = None;
    let predicted = run::predict(&config, &mut |event| match event {
        Event::Note(text) => console.note(&with_flags(text)),
        Event::Progress(progress) => console.progress(progress),
        Event::Predicted(scores) if voice() == Voice::Json => show_event(&prediction_event(scores)),
        Event::Predicted(scores) if config.correct_and_smooth.is_some() && !scores.corrected => {
            before = Some(scores.clone());
        }
        Event::Predicted(scores) => show_status(&prediction_table(before.as_ref(), scores)),
        _ => {}
    });
    drop(console);
    predicted?;
    if run::reports() { print_output(&config.output) } else { Ok(()) }
}

/// Parses a file of original ids, or TYPE=FILE.
fn original_ids(value: PathBuf) -> OriginalIdsFile {
    let typed = value.to_str().filter(|_| !value.exists()).and_then(|text| text.split_once('='));
    match typed {
        Some((ntype, path)) if !ntype.is_empty() && !path.is_empty() => {
            OriginalIdsFile { ntype: Some(ntype.to_owned()), path: path.into() }
        }
        _ => OriginalIdsFile { ntype: None, path: value },
    }
}

/// The file with the weights of a run.
fn weights_of(run: &Path) -> Result<PathBuf> {
    let path = run.join(WEIGHTS);
    let found = fs::metadata(&path).map_err(|e| {
        let status = format!("sar-single status {}", shell_word(run));
        let hint =
            format!("training writes weights at its end; `{status}` shows how the run ended");
        Error::unreadable(&path, &e).with_hint(hint)
    });
    found.map(|_| path)
}

/// The configuration in a run's folder, with the choices that depend on the graph.
pub(super) fn read_config(run: &Path) -> Result<RunConfig> {
    let path = run.join(CONFIG);
    let text = read_input(&path).map_err(|e| {
        Error::unreadable(&path, &e).with_hint("--run takes the folder of a training run")
    })?;
    RunConfig::from_toml(&path, &text)
}
