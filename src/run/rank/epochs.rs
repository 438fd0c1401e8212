//! The epochs of a rank's training.

use std::collections::BTreeMap;

use super::assignment::Assignment;
use super::saving::Saving;
use super::setup::RankSetup;
use crate::engine::comm::barrier;
use crate::engine::turns::Phase;
use crate::event::{EpochReport, Evaluation, Event, RankTurns, TurnSpan};
use crate::run::config::OnNan;
use crate::run::config::divergence::Divergence;
use crate::train::{Checkpoint, Training, TurnHooks};
use crate::words::error::{Error, Result};

/// Runs the epochs of training, from a checkpoint on if the run is resumed, and the final evaluation. `write` then writes the
/// weights, and gets texts about the run if there are weights to keep: not if a run continued with a model that is not
/// finite. The rank has no turn afterwards.
pub(super) fn run_epochs(
    mut training: Training<'_>,
    assignment: Assignment<'_>,
    setup: &RankSetup,
    write: impl FnOnce(Option<BTreeMap<String, String>>) -> Result<()>,
) -> Result<()> {
    let Assignment { here, config, graph, resumed } = assignment;
    let tell = |event| if here.rank == 0 { here.events.send(event) } else { Ok(()) };
    if let Some(graph) = graph {
        training.set_graph(graph)?;
    }
    if let Some(path) = resumed {
        training.set_state(&Checkpoint::open(path)?)?;
    }
    if assignment.initial().is_some() {
        training.share_rows()?;
    }
    let mut noted = false;
    let mut diverged = |training: &Training<'_>, divergence: Divergence| match config.on_nan {
        // Rank 0 reports the epoch and then the error; the others wait until they are stopped.
        OnNan::Stop if here.rank != 0 => training.barrier(),
        OnNan::Stop => Err(divergence.error(config)),
        OnNan::GoOn if std::mem::replace(&mut noted, true) => Ok(()),
        OnNan::GoOn => tell(Event::Note(divergence.note())),
    };
    let mut stop = training.stop();
    let mut saving = Saving::new(assignment, &training);
    let mut turns = Vec::new();
    let tell_turns = |epoch, spans: Vec<TurnSpan>| {
        if spans.is_empty() {
            return Ok(());
        }
        here.events.send(Event::Turns(RankTurns { rank: here.rank, epoch, spans }))
    };
    while training.epoch() < config.epochs && stop.is_none() {
        let report = training.next_epoch();
        let report = report.map_err(|stopped| saving.save_kept(stopped, training.kept()))?;
        turns = setup.manager.lock().take_turns();
        stop = training.stop();
        let EpochReport { epoch, loss, .. } = report;
        tell(Event::Epoch(report))?;
        if here.rank != 0 && here.slot == 0 {
            // The launchers of other machines also divide memory after each epoch.
            here.events.send(Event::Step)?;
        }
        // The first epoch also prepares the graph, so the turns of the second one are written.
        if epoch == 2 {
            tell_turns(epoch, turns.clone())?;
        }
        if !loss.is_finite() {
            diverged(&training, Divergence::Loss { epoch, loss })?;
        }
        if saving.is_due(epoch, epoch == config.epochs || stop.is_some()) {
            if training.is_finite()? {
                saving.save(&mut training)?;
            } else {
                diverged(&training, Divergence::Model { epoch })?;
            }
        }
        if saving.ends() {
            // No rank may end before all have done their part.
            training.barrier()?;
            return Err(Error::interrupted());
        }
        training.keep_state()?;
    }
    if let Some(why) = stop {
        tell(Event::Note(why))?;
    }
    let finite = training.ends_finite()?;
    if !finite {
        diverged(&training, Divergence::Model { epoch: training.epoch() })?;
    }
    let (last, kept) = (training.epoch(), training.take_kept());
    let trained_on = training.graph().cloned();
    let evaluation = finish(training, setup, |epoch| {
        let texts = finite.then(|| config.texts_of_weights(epoch, trained_on.as_ref()));
        write(texts.transpose()?)
    });
    let evaluation = evaluation.map_err(|stopped| saving.save_kept(stopped, kept.as_ref()))?;
    tell_turns(last, turns)?;
    tell(Event::Evaluation(evaluation))
}

/// Evaluates the model and writes its weights. An interrupt stops all ranks in this, or none.
fn finish(
    training: Training<'_>,
    setup: &RankSetup,
    write: impl FnOnce(u32) -> Result<()>,
) -> Result<Evaluation> {
    let evaluation = training.finish()?;
    setup.manager.set_phase(Phase::Finishing);
    write(evaluation.epoch)?;
    setup.manager.precall_func()?;
    // No turn follows, but a rank that waits gives up memory if asked.
    barrier(&*setup.group, &TurnHooks::new(&setup.manager, false))?;
    Ok(evaluation)
}
