//! A training run, from a configuration to a folder of results.

use std::fs;
use std::io::Write;

use super::workers::run_workers;
use crate::data::dgl::PartitionConfig;
use crate::error::{Error, Result};
use crate::event::{Event, MetricsFile};
use crate::io::{AtomicFile, RowFile};
use crate::worker::{self, RunConfig, Surroundings};

/// The file of a run's configuration in its folder.
pub const CONFIG: &str = "config.toml";
/// The file of a run's metrics in its folder.
pub const METRICS: &str = "metrics.jsonl";

/// Trains a model with one worker process per partition. `observe` gets every event.
///
/// Writes `config.toml`, `metrics.jsonl` and `model.safetensors` into `config.out`. What an earlier run left there stays
/// until the first epoch is complete.
///
/// # Errors
/// If the input or the configuration is wrong, a worker fails, or the run is interrupted. No process is left behind, and no
/// spill file.
pub fn train(config: &RunConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    let partitions = PartitionConfig::open(&config.part_json)?;
    for note in partitions.notes() {
        observe(&Event::Note(note.clone()));
    }
    check(config)?;
    fs::create_dir_all(&config.out).map_err(|e| {
        Error::input(&config.out, "", format!("cannot be made: {e}"))
            .with_hint("name another folder for results with --out")
    })?;
    let mut metrics = None;
    let work = |here: Surroundings<'_>| worker::train(here, config);
    let result = run_workers(config, &partitions, &work, &mut |event, peak| {
        match &event {
            Event::Epoch(report) => {
                if metrics.is_none() {
                    write_config(config)?;
                    metrics = Some(MetricsFile::create(&config.out.join(METRICS))?);
                }
                metrics.iter_mut().try_for_each(|metrics| metrics.epoch(report, peak))?;
            }
            Event::Evaluation(report) => {
                metrics.iter_mut().try_for_each(|metrics| metrics.evaluation(report, peak))?;
            }
            Event::Note(_) | Event::Failed(_) => {}
        }
        observe(&event);
        Ok(())
    });
    if let (Err(_), Some(path)) = (&result, &config.dump_step) {
        RowFile::remove_partial(path)?;
    }
    result
}

fn check(config: &RunConfig) -> Result<()> {
    if config.epochs == 0 {
        return Err(Error::config("epochs", "at least one epoch is needed"));
    }
    if let Some(sampling) = &config.sampling {
        sampling.check(config.model.layers)?;
        if config.dump_step.is_some() {
            let problem = "a step on sampled neighbourhoods has no logits of all nodes";
            return Err(Error::config("dump-step", problem)
                .with_hint("leave --mode sample away: the file is of a full-graph step"));
        }
    }
    if let Some(path) = &config.init_params {
        fs::File::open(path).map_err(|e| Error::unreadable(path, &e))?;
    }
    if let Some(path) = &config.dump_step {
        RowFile::remove_partial(path)?;
    }
    Ok(())
}

fn write_config(config: &RunConfig) -> Result<()> {
    let path = config.out.join(CONFIG);
    let text = toml::to_string_pretty(config)
        .map_err(|e| Error::Internal(format!("the configuration cannot be written: {e}")))?;
    let file = AtomicFile::create(&path)?;
    file.file().write_all(text.as_bytes()).map_err(|e| Error::io("write", &path, e))?;
    file.commit()
}
