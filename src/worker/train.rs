//! A rank's part of a training run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tch::Tensor;

use super::config::RunConfig;
use super::labelled::Labelled;
use super::labels::{divisor, make_loss, take_up_labels};
use super::link::train_link;
use super::rank::{KIND, RankSetup, Surroundings};
use super::sampled;
use super::step_dump::StepDump;
use crate::comm::sync_params;
use crate::error::Result;
use crate::event::Event;
use crate::io::UNFINISHED;
use crate::ipc::Phase;
use crate::loader::DataLoader;
use crate::nn::{load_state_dict, save_state_dict};
use crate::tape::{Constants, Graph, ParameterBuilder};
use crate::tensor;
use crate::train::{Checkpoint, Trainer, Training};

/// The file of trained weights in a run's folder.
pub const WEIGHTS: &str = "model.safetensors";

/// The file of a run's last checkpoint in its folder.
pub const CHECKPOINT: &str = "checkpoint.safetensors";

/// Trains, from the run's checkpoint on if it is resumed.
pub fn train(here: Surroundings<'_>, config: &RunConfig, resumed: bool) -> Result<()> {
    if let Some(how) = config.link.as_ref().zip(config.sampling.as_ref()) {
        return train_link(here, config, how);
    }
    let setup = RankSetup::new(here, config)?;
    let facts = take_up_labels(&setup, config, here)?;
    let loss = make_loss(&setup, config, &facts)?;
    let divisor = divisor(&setup, &loss, &facts)?;
    let mut builder = ParameterBuilder::new(config.seed);
    let model = config.model.build(&mut builder, setup.sizes(facts.outputs))?;
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    if let (Some(path), 0) = (&config.init_params, here.rank) {
        load_state_dict(path, &parameters)?;
    }
    let loader = sampled::loader(&setup, here, config)?;
    let flat = tensor::copy(&*parameters.flat().pin()?)?;
    let mut synced = sync_params(&*setup.group, vec![flat], &*setup.manager)?;
    parameters.set_flat(synced.remove(0))?;
    let num_graphs = config.model.num_graphs();
    let input = setup.model_input(&*model, &parameters)?;
    let (labels, masks) = (facts.labels.clone(), facts.masks.clone());
    let labelled = config
        .mfg
        .then(|| Labelled::new(&setup, &input, (&labels, &masks), num_graphs))
        .transpose()?;
    let (graphs, features, labels, masks) = match &labelled {
        Some(Labelled { graphs, features, labels, masks, .. }) => {
            let graphs = graphs.iter().map(|graph| graph as &dyn Graph).collect();
            (graphs, features.clone(), labels.clone(), masks.clone())
        }
        None => (vec![&setup.graph as _; num_graphs], input.clone(), labels, masks),
    };
    let trainer = Trainer {
        manager: &setup.manager,
        group: &*setup.group,
        features,
        labels,
        masks,
        graphs,
        model: &*model,
        parameters: &parameters,
        loss,
        divisor,
        outputs: facts.outputs,
        totals: facts.totals,
        seed: config.seed,
        policy: config.policy,
        constants: Constants::default(),
    };
    match &config.dump_step {
        Some(path) => {
            let dump = StepDump::open(path, &parameters, facts.num_nodes, facts.outputs)?;
            let write = &mut |logits: &Tensor| match &labelled {
                Some(labelled) => dump.write_logits(facts.first_node, &labelled.spread(logits)?),
                None => dump.write_logits(facts.first_node, logits),
            };
            let step = trainer.step(1, &trainer.mark(), write)?;
            if here.rank == 0 {
                dump.finish(step.loss, &parameters, &step.gradient)?;
            }
        }
        None => run_epochs(&trainer, here, (config, resumed), loader.as_ref())?,
    }
    drop(trainer);
    drop((labelled, facts, parameters, input));
    setup.end()
}

fn run_epochs(
    trainer: &Trainer<'_>,
    here: Surroundings<'_>,
    (config, resumed): (&RunConfig, bool),
    loader: Option<&DataLoader>,
) -> Result<()> {
    let tell = |event| if here.rank == 0 { here.events.send(event) } else { Ok(()) };
    let samples = loader.map(|loader| sampled::samples(trainer, loader, config)).transpose()?;
    let mut training = Training::new(trainer, samples, config.regime())?;
    if resumed {
        training.set_state(Checkpoint::read(&config.out.join(CHECKPOINT))?)?;
    }
    let mut stop = training.stop();
    while training.epoch() < config.epochs && stop.is_none() {
        let report = training.next_epoch()?;
        stop = training.stop();
        let epoch = report.epoch;
        tell(Event::Epoch(report))?;
        let due = |every| epoch.is_multiple_of(every) || epoch == config.epochs || stop.is_some();
        if here.rank == 0 && config.checkpoint_every.is_some_and(due) {
            let path = pending_checkpoint(&config.out, epoch);
            training.checkpoint(config.to_toml()?)?.write(&path)?;
            tell(Event::Checkpoint(epoch))?;
        }
    }
    if let Some(why) = stop {
        tell(Event::Note(why))?;
    }
    let evaluation = training.finish()?;
    trainer.manager.set_phase(Phase::Finishing);
    tell(Event::Evaluation(evaluation))?;
    if here.rank == 0 {
        let path = config.out.join(WEIGHTS);
        save_state_dict(&path, trainer.parameters, BTreeMap::new())?;
    }
    Ok(())
}

/// Where a checkpoint waits to become [`CHECKPOINT`]: the launcher lets it when it has recorded the epoch, so that a run
/// that goes on from there has the metrics of all epochs.
pub fn pending_checkpoint(out: &Path, epoch: u32) -> PathBuf {
    out.join(format!("{UNFINISHED}checkpoint-{epoch}"))
}
