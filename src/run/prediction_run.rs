//! A prediction, from a run's folder to a file.

use super::launch::bounds;
use super::launch::workers::{Launch, run_workers};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::io::{MadeFolders, RowFile};
use crate::load::check_original_order;
use crate::nn::{Task, verify_state_dict};
use crate::run::rank;
use crate::run::rank::{ArrayFormat, NodeOrder, PredictConfig, Prediction, Surroundings, WEIGHTS};

/// Predicts all nodes of a partitioned graph, with one worker process per partition. `observe` gets every event.
///
/// # Errors
/// If the input or the configuration is wrong, a worker fails, or the run is interrupted. No process, no spill file and no part
/// of the output is left behind.
pub fn predict(config: &PredictConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    ArrayFormat::of(&config.output)?;
    if config.prediction == Prediction::Classes && !config.run.task.has_classes() {
        return Err(Error::config("prediction", "the run is a regression, which has no classes")
            .with_hint("pass ‹prediction=logits›"));
    }
    if config.prediction == Prediction::Classes && config.run.link.is_some() {
        return Err(Error::config(
            "prediction",
            "the run predicts edges; its nodes have no classes",
        )
        .with_hint("pass ‹prediction=logits› for the rows from which edges are scored"));
    }
    let classifies = config.run.task == Task::Classification && config.run.link.is_none();
    if config.correct_and_smooth.is_some() && !classifies {
        return Err(Error::config("run", "correct and smooth needs one class per node")
            .with_hint("name a run that was trained with ‹task=classification›"));
    }
    if config.correct_and_smooth.is_some() && config.run.relations.is_some() {
        let problem = "correct and smooth needs a model that treats the graph as homogeneous";
        return Err(Error::config("run", problem)
            .with_hint("use predict: the run's model has a layer per edge type"));
    }
    check_weights(config, observe)?;
    let partitions = PartitionConfig::open(&config.run.part_json)?;
    for note in partitions.notes() {
        observe(&Event::Note(note.clone()));
    }
    if config.order == NodeOrder::Original {
        check_original_order(&partitions)?;
    }
    let made = MadeFolders::create_for(&config.output, "out")?;
    RowFile::remove_partial(&config.output)?;
    let work = |here: Surroundings<'_>| rank::predict(here, config);
    let resources = config.run.resources();
    let launch = Launch {
        io: bounds::io_mode(&config.run, &partitions),
        all_fits: bounds::fits(&config.run, &partitions),
        ..Launch::new(&resources, &partitions)
    };
    let mut on_event = |event: Event, _| {
        observe(&event);
        Ok(())
    };
    let result = run_workers(&launch, &work, &mut on_event, |_| Ok(()));
    if result.is_err() {
        RowFile::remove_partial(&config.output)?;
    } else {
        made.keep();
    }
    result
}

/// Checks that weights are intact and, if they belong to the run, that they were trained with its configuration.
fn check_weights(config: &PredictConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
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
    Ok(())
}
