//! A rank's part of a training run.

use std::collections::BTreeMap;
use std::rc::Rc;

use tch::{Kind, Tensor};

use super::config::RunConfig;
use super::rank::{KIND, RankSetup, Surroundings, keep};
use super::sampled;
use super::step_dump::StepDump;
use crate::comm::sync_params;
use crate::data::{load_labels, load_mask};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::ipc::Phase;
use crate::loader::DataLoader;
use crate::nn::{Optimizer, Stack, load_state_dict, save_state_dict, stored_out_feats};
use crate::spill::Masks;
use crate::tape::{Graph, ParameterBuilder};
use crate::tensor;
use crate::train::{SamplingConfig, Totals, Trainer};

/// The file of trained weights in a run's folder.
pub const WEIGHTS: &str = "model.safetensors";

/// Trains.
pub fn train(here: Surroundings<'_>, config: &RunConfig) -> Result<()> {
    let setup = RankSetup::new(here, config)?;
    let facts = take_up_labels(&setup, config, here)?;
    let mut builder = ParameterBuilder::new(config.seed);
    let model = Stack::new(&mut builder, &config.model, setup.sizes(facts.classes))?;
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    if let (Some(path), 0) = (&config.init_params, here.rank) {
        load_state_dict(path, &parameters)?;
    }
    let loader = config.sampling.as_ref().map(|sampling| {
        let loader = sampled::loader(&setup, here, config, sampling)?;
        Ok::<_, Error>((loader, sampling))
    });
    let loader = loader.transpose()?;
    let flat = tensor::copy(&*parameters.flat().pin()?)?;
    let mut synced = sync_params(&*setup.group, vec![flat], &*setup.manager)?;
    parameters.set_flat(synced.remove(0))?;
    let trainer = Trainer {
        manager: &setup.manager,
        group: &*setup.group,
        features: setup.features.clone(),
        graphs: vec![&setup.graph as &dyn Graph; config.model.layers],
        model: &model,
        parameters: &parameters,
        totals: facts.totals,
        seed: config.seed,
        policy: config.policy,
    };
    match &config.dump_step {
        Some(path) => {
            let dump = StepDump::open(path, &parameters, facts.num_nodes, facts.classes)?;
            let write = &mut |logits: &Tensor| dump.write_logits(facts.first_node, logits);
            let step = trainer.step(1, &trainer.mark(), write)?;
            if here.rank == 0 {
                dump.finish(step.loss, &parameters, &step.gradient)?;
            }
        }
        None => run_epochs(&trainer, here, config, loader.as_ref())?,
    }
    drop(trainer);
    drop(parameters);
    setup.end()
}

fn run_epochs(
    trainer: &Trainer<'_>,
    here: Surroundings<'_>,
    config: &RunConfig,
    loader: Option<&(DataLoader, &SamplingConfig)>,
) -> Result<()> {
    let tell = |event| if here.rank == 0 { here.events.send(event) } else { Ok(()) };
    let mut optimizer = Optimizer::new(config.optimizer, trainer.manager)?;
    let evaluation = match loader {
        None => {
            let mut mark = trainer.mark();
            for epoch in 1..=config.epochs {
                tell(Event::Epoch(trainer.epoch(epoch, &mut optimizer, &mut mark)?))?;
            }
            trainer.evaluate()?
        }
        Some((loader, sampling)) => {
            let sampled = sampled::sampled_trainer(trainer, loader, config, sampling);
            let mut last = None;
            for epoch in 1..=config.epochs {
                let (report, evaluation) =
                    sampled::epoch(&sampled, trainer, epoch, &mut optimizer)?;
                tell(Event::Epoch(report))?;
                last = Some(evaluation);
            }
            last.ok_or_else(|| Error::Internal("a run without epochs".to_owned()))?
        }
    };
    trainer.manager.set_phase(Phase::Finishing);
    tell(Event::Evaluation(evaluation))?;
    if here.rank == 0 {
        let path = config.out.join(WEIGHTS);
        save_state_dict(&path, trainer.parameters, BTreeMap::new())?;
    }
    Ok(())
}

/// What all ranks have to agree on before there is a model.
struct Facts {
    classes: i64,
    totals: Totals,
    num_nodes: u64,
    first_node: u64,
}

/// Reads labels and masks, and learns the number of classes and of masked nodes over all ranks: one collective.
fn take_up_labels(setup: &RankSetup, config: &RunConfig, here: Surroundings<'_>) -> Result<Facts> {
    let RankSetup { manager, partition, graph, .. } = setup;
    let keys = &config.keys;
    let labels = load_labels(partition, keys.labels.as_deref())?;
    let mask = |key: &Option<String>, name: &str| -> Result<Tensor> {
        let mask = load_mask(partition, key.as_deref(), name)?;
        mask.map_or_else(|| tensor::zeros(&labels.size(), Kind::Bool), Ok)
    };
    let masks = [
        mask(&keys.train_mask, "train_mask")?,
        mask(&keys.val_mask, "val_mask")?,
        mask(&keys.test_mask, "test_mask")?,
    ];
    let count = |t: &Tensor| Ok::<_, Error>(t.f_sum(Kind::Int64)?.f_int64_value(&[])?);
    let unlabelled = count(&labels.f_lt(0)?.f_logical_and(&masks[0])?)?;
    if unlabelled > 0 {
        let path = partition.node_features().path();
        let problem = format!("{unlabelled} training nodes have no label");
        return Err(Error::input(path, keys.labels.as_deref().unwrap_or("label"), problem));
    }
    let highest = if labels.numel() == 0 { -1 } else { labels.f_max()?.f_int64_value(&[])? };
    let without_in_edges = count(&graph.in_degrees().pin()?.f_eq(0)?)?;
    let numbers = [
        setup.in_feats,
        highest,
        count(&masks[0])?,
        count(&masks[1])?,
        count(&masks[2])?,
        without_in_edges,
    ];
    keep(manager.labels.set(manager.track("labels", labels)))?;
    let [train, val, test] = masks.map(|mask| manager.track("mask", mask));
    keep(manager.masks.set(Masks { train, val, test }).map_err(drop))?;

    let rows = setup.gather(&numbers)?;
    setup.check_widths(rows.iter().map(|row| row[0]))?;
    let sum = |i: usize| rows.iter().map(|row| row[i]).sum::<i64>();
    let totals = Totals { train: sum(2), val: sum(3), test: sum(4) };
    if totals.train == 0 {
        let path = partition.node_features().path();
        return Err(Error::input(
            path,
            keys.train_mask.as_deref().unwrap_or("train_mask"),
            "names no node",
        )
        .with_hint("say which array marks the training nodes with --train-mask-key KEY"));
    }
    if here.rank == 0 && sum(5) > 0 && config.model.kind.needs_in_edges() {
        here.events.send(Event::Note(format!(
            "{} nodes have no in-edges; a layer gives them its bias alone",
            sum(5)
        )))?;
    }
    Ok(Facts {
        classes: num_classes(config, rows.iter().map(|row| row[1]).max().unwrap_or(-1))?,
        totals,
        num_nodes: partition.book().num_nodes(),
        first_node: partition.book().node_range(here.rank).start,
    })
}

/// One more than the highest label, or as many as the start weights have outputs for.
fn num_classes(config: &RunConfig, highest_label: i64) -> Result<i64> {
    let Some(path) = &config.init_params else { return Ok(highest_label + 1) };
    let outputs = stored_out_feats(path, &config.model)?;
    if highest_label < outputs {
        return Ok(outputs);
    }
    let problem = format!("has {outputs} outputs, but labels go up to {highest_label}");
    Err(Error::input(path, "", problem))
}
