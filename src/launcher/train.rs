//! A training run, from a configuration to a folder of results.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::workers::run_workers;
use super::{limits, plan, relations};
use crate::data::dgl::PartitionConfig;
use crate::error::{Error, Result};
use crate::event::{Event, MetricsFile};
use crate::io::{AtomicFile, MadeFolders, RowFile, open_input, replace};
use crate::nn::NormKind;
use crate::train::Checkpoint;
use crate::worker::{self, CHECKPOINT, RunConfig, Surroundings, pending_checkpoint};

/// The file of a run's configuration in its folder.
pub const CONFIG: &str = "config.toml";
/// The file of a run's metrics in its folder.
pub const METRICS: &str = "metrics.jsonl";

/// Trains a model with one worker process per partition. `observe` gets every event.
///
/// Writes `config.toml`, `metrics.jsonl`, `model.safetensors` and, if asked for, `checkpoint.safetensors` into `config.out`.
/// What an earlier run left there stays until the first epoch is complete.
///
/// # Errors
/// If the input or the configuration is wrong, a worker fails, or the run is interrupted. No process is left behind, and no
/// spill file.
pub fn train(config: &RunConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    run(config, None, observe)
}

/// The configuration that the last checkpoint in a run's folder was written with; results go to that folder.
///
/// # Errors
/// If there is no checkpoint.
pub fn resumable(folder: &Path) -> Result<RunConfig> {
    let path = folder.join(CHECKPOINT);
    let config = Checkpoint::open(&path)?.config;
    Ok(RunConfig { out: folder.to_owned(), ..RunConfig::from_toml(&path, &config)? })
}

/// Goes on with a run from its last checkpoint; what comes out has the bits of a run that was never stopped. Of its
/// [`resumable`] configuration, the number of epochs, folders, threads and residents may be changed.
///
/// # Errors
/// As [`train`]; if the checkpoint has more epochs than the configuration.
pub fn resume(config: &RunConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    let progress = Checkpoint::open(&config.out.join(CHECKPOINT))?.progress;
    if progress.epoch > config.epochs {
        let problem = format!("is {}, but the run has had {}", config.epochs, progress.epoch);
        return Err(Error::config("--epochs", problem));
    }
    AtomicFile::remove_leftovers(&config.out)?;
    observe(&Event::Note(format!("going on after epoch {}", progress.epoch)));
    run(config, Some(progress.epoch), observe)
}

fn run(
    config: &RunConfig,
    resumed_after: Option<u32>,
    observe: &mut dyn FnMut(&Event),
) -> Result<()> {
    let partitions = PartitionConfig::open(&config.part_json)?;
    for note in partitions.notes() {
        observe(&Event::Note(note.clone()));
    }
    let relations = relations::relations(config, &partitions)?;
    if let Some(relations) = &relations {
        observe(&Event::Note(relations::note(config, &partitions, relations)?));
    }
    let config = &RunConfig { relations, ..config.clone() };
    check(config)?;
    if let Some(sampling) = &config.sampling {
        let layers = config.model.num_graphs();
        sampling.sampler(layers, partitions.book(), config.relations.is_some())?;
    }
    let planned = plan::check(config, &partitions, observe)?;
    let mut made = vec![MadeFolders::create(&config.out, "--out")?];
    if let Some(path) = &config.dump_step {
        made.push(MadeFolders::create_for(path, "--dump-step")?);
    }
    let (mut complete, mut saved) = (resumed_after, resumed_after);
    let mut results = None;
    let work = |here: Surroundings<'_>| worker::train(here, config, resumed_after.is_some());
    let result = run_workers(config, &partitions, None, planned, &work, &mut |event, peak| {
        match &event {
            Event::Epoch(report) => {
                complete = Some(report.epoch);
                results_of(config, resumed_after, &mut results)?.epoch(report, peak)?;
            }
            Event::Evaluation(report) => {
                results_of(config, resumed_after, &mut results)?.evaluation(report, peak)?;
            }
            Event::Checkpoint(epoch) => {
                saved = Some(*epoch);
                replace(&pending_checkpoint(&config.out, *epoch), &config.out.join(CHECKPOINT))?;
            }
            Event::Note(_) | Event::Usage(_) | Event::Failed(_) => {}
        }
        observe(&event);
        Ok(())
    });
    if matches!(result, Err(Error::Interrupted)) && config.checkpoint_every.is_some() {
        observe(&Event::Note(how_to_resume(&config.out, complete, saved)));
    }
    if result.is_err() {
        AtomicFile::remove_leftovers(&config.out)?;
    }
    if let (Err(_), Some(path)) = (&result, &config.dump_step) {
        RowFile::remove_partial(path)?;
    }
    if result.is_ok() {
        made.into_iter().for_each(MadeFolders::keep);
    }
    result
}

/// What an interrupted run has saved, and the command that goes on from there.
fn how_to_resume(out: &Path, complete: Option<u32>, saved: Option<u32>) -> String {
    let Some(saved) = saved else {
        return "nothing is saved yet: there is no run to resume".to_owned();
    };
    let lost = complete.filter(|complete| *complete > saved);
    let lost = lost.map_or_else(String::new, |complete| format!(" (of {complete} complete ones)"));
    let folder = out.display().to_string().replace('\'', r"'\''");
    format!(
        "the run is saved as of epoch {saved}{lost}; resume with: sar-single --resume '{folder}'"
    )
}

/// The metrics of the run; when there are first ones, its files take the place of those of an earlier run.
fn results_of<'m>(
    config: &RunConfig,
    resumed_after: Option<u32>,
    metrics: &'m mut Option<MetricsFile>,
) -> Result<&'m mut MetricsFile> {
    if let Some(metrics) = metrics {
        return Ok(metrics);
    }
    write_config(config)?;
    let path = config.out.join(METRICS);
    let file = if let Some(epoch) = resumed_after {
        MetricsFile::resume(&path, epoch)?
    } else {
        remove(&config.out.join(CHECKPOINT))?;
        MetricsFile::create(&path)?
    };
    Ok(metrics.insert(file))
}

/// Removes the checkpoint of an earlier run.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, e)),
        _ => Ok(()),
    }
}

/// Refuses what does not go together.
pub(super) fn check(config: &RunConfig) -> Result<()> {
    limits::check(config)?;
    relations::check(config)?;
    if config.mfg && config.model.norm == NormKind::Batch {
        let problem = "batch statistics are those of all nodes, of which --mfg leaves some out";
        return Err(
            Error::config("--mfg", problem).with_hint("leave --mfg out, or use --norm layer")
        );
    }
    if let Some(link) = &config.link {
        link.check(config)?;
    }
    if let Some(sampling) = &config.sampling {
        let refused = match (config.model.norm, config.model.kind) {
            (NormKind::Batch, _) => Some((
                "--norm",
                "batch statistics are those of all nodes of the graph",
                "use --norm layer",
            )),
            (_, kind) if kind.propagates_once() => Some((
                "--model",
                "sgc and sign read the neighbourhoods only once",
                "choose another model",
            )),
            (_, kind) if kind.normalises_edge_weights() => Some((
                "--edge-weight-key",
                "the weights of --model appnp are divided by sums over the full graph",
                "choose another model",
            )),
            _ => None,
        };
        if let Some((flag, problem, remedy)) = refused {
            return Err(Error::config(flag, problem)
                .with_hint(format!("{remedy}, or train on the full graph: --mode full")));
        }
        sampling.check(config.model.num_graphs())?;
        if config.dump_step.is_some() {
            let problem = "a step on sampled neighbourhoods has no logits of all nodes";
            return Err(Error::config("dump-step", problem)
                .with_hint("leave --mode sample away: the file is of a full-graph step"));
        }
    }
    if let Some(path) = &config.init_params {
        open_input(path).map_err(|e| Error::unreadable(path, &e))?;
    }
    if let Some(path) = &config.dump_step {
        RowFile::remove_partial(path)?;
    }
    Ok(())
}

fn write_config(config: &RunConfig) -> Result<()> {
    let path = config.out.join(CONFIG);
    let file = AtomicFile::create(&path)?;
    file.file()
        .write_all(config.to_toml()?.as_bytes())
        .map_err(|e| Error::io("write", &path, e))?;
    file.commit()
}
