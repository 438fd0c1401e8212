//! Checks of a prediction before its work begins.

use std::path::Path;

use serde_json::Value;

use crate::choice::Choice;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::graph::PartitionBook;
use crate::io::read_input;
use crate::load::etypes_within;
use crate::nn::{Task, verify_state_dict};
use crate::run::METRICS;
use crate::run::config::RunConfig;
use crate::run::rank::{PredictConfig, Prediction, WEIGHTS};

/// Checks that the prediction makes sense for the task.
pub(super) fn check(config: &PredictConfig) -> Result<()> {
    let PredictConfig { run, prediction, .. } = config;
    let of_classes = matches!(prediction, Prediction::Classes | Prediction::Probabilities);
    let name = prediction.name().unwrap_or_default();
    if of_classes && !run.task.has_classes() {
        let problem = format!("the run is a regression, which has no {name}");
        return Err(Error::config("prediction", problem).with_hint("pass ‹prediction=logits›"));
    }
    if of_classes && run.link.is_some() {
        let problem = format!("the run predicts edges; its nodes have no {name}");
        return Err(Error::config("prediction", problem)
            .with_hint("pass ‹prediction=logits› for the rows from which edges are scored"));
    }
    if config.layer.is_some() && *prediction != Prediction::Embeddings {
        return Err(Error::config("layer", format!("has no effect on {name}"))
            .with_hint("leave it out, or pass ‹prediction=embeddings›"));
    }
    if config.correct_and_smooth.is_none() {
        return Ok(());
    }
    let classifies = run.task == Task::Classification && run.link.is_none();
    if !classifies {
        return Err(Error::config("run", "correct and smooth needs one class per node")
            .with_hint("name a run that was trained with ‹task=classification›"));
    }
    if matches!(prediction, Prediction::Probabilities | Prediction::Embeddings) {
        let problem = format!("correct and smooth makes scores from 0 to 1, but no {name}");
        return Err(Error::config("prediction", problem)
            .with_hint("pass ‹prediction=logits› for the scores"));
    }
    Ok(())
}

/// Checks that edges join nodes of the predicted type where predictions are propagated along them.
pub(super) fn check_propagation(
    config: &PredictConfig,
    book: &PartitionBook,
    ntypes: &[usize],
) -> Result<()> {
    if config.correct_and_smooth.is_none() || config.run.relations.is_none() {
        return Ok(());
    }
    let Some(ntype) = ntypes.iter().find(|ntype| etypes_within(book, **ntype).is_empty()) else {
        return Ok(());
    };
    let etypes: Vec<String> = book.etypes().iter().map(ToString::to_string).collect();
    let problem = format!(
        "correct and smooth propagates along edges between nodes of the predicted type {}, but the edge types of the graph are {}",
        book.ntypes()[*ntype],
        etypes.join(", ")
    );
    Err(Error::config("run", problem)
        .with_hint("use predict, or add an edge type that joins these nodes"))
}

/// Checks that weights are intact and, if they belong to the run, that they were trained with its configuration, in all of
/// its epochs.
pub(super) fn check_weights(config: &PredictConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    let (weights, run) = (&config.weights, &config.run);
    let verified = verify_state_dict(weights)?;
    if *weights != run.out.join(WEIGHTS) {
        return Ok(());
    }
    if !(run.check_weights(weights)? && verified) {
        observe(&Event::Note(format!(
            "{}: holds neither a checksum nor the configuration it was trained with, so it cannot be verified",
            weights.display()
        )));
    }
    let last = last_epoch(&run.out.join(METRICS));
    if let Some(epoch) = RunConfig::epoch_of_weights(weights)?.filter(|epoch| *epoch < last) {
        observe(&Event::Note(format!(
            "{}: holds the weights of epoch {epoch}, but the run has completed epoch {last}; it writes its weights when it ends",
            weights.display()
        )));
    }
    Ok(())
}

/// The epoch in the last line of a run's metrics, or 0. At the end of a run, the line has the epoch of its weights.
fn last_epoch(metrics: &Path) -> u32 {
    let lines = read_input(metrics).unwrap_or_default();
    // A killed run may leave half a line.
    let last = lines.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    last.and_then(|line| u32::try_from(line["epoch"].as_u64()?).ok()).unwrap_or(0)
}
