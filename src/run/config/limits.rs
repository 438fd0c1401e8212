//! Ranges of a run's sizes and constants, checked before anything is read, created or forked.

use crate::nn::{OptimizerConfig, Schedule};
use crate::platform::free_memory;
use crate::run::config::{Resources, RunConfig};
use crate::train::Fanouts;
use crate::words::error::{Error, Result};
use crate::words::size::size;

const MOST_LAYERS: usize = 1000;
const MOST_WIDTH: i64 = 1 << 20;
/// Largest number of rows of a partition, whose nodes and edges are counted in 32 bits.
const MOST_ROWS: usize = u32::MAX as usize;
const MOST_NEGATIVES: usize = 10_000;
const MOST_THREADS: usize = 1 << 20;
const MOST_SAMPLERS: usize = 1 << 10;
/// Largest rate or factor; larger ones overflow `float32` within a few steps.
const LARGEST_RATE: f64 = 1e6;

/// Checks every number of a configuration that has a range.
pub(crate) fn check(config: &RunConfig) -> Result<()> {
    let count = |field, value: usize, most| whole(field, value as i128, 1, most as i128);
    check_workers(&config.resources())?;
    whole("epochs", config.epochs.into(), 1, u32::MAX.into())?;
    for (field, epochs) in [
        ("patience", config.patience),
        ("evaluation.every", config.evaluation.every),
        ("checkpoint_every", config.checkpoint_every),
        ("sampling.log_every", config.sampling.as_ref().and_then(|sampling| sampling.log_every)),
    ] {
        whole(field, epochs.unwrap_or(1).into(), 1, u32::MAX.into())?;
    }
    if let Some(norm) = config.clip_norm
        && !(norm > 0.0 && norm.is_finite())
    {
        return Err(out_of_range("clip_norm", norm, "a number above 0"));
    }
    check_model(config)?;
    check_rates(config)?;
    if let Some(sampling) = &config.sampling {
        count("sampling.batch_size", sampling.batch_size, MOST_ROWS)?;
        whole(
            "sampling.sampler_threads",
            sampling.sampler_threads as i128,
            0,
            MOST_SAMPLERS as i128,
        )?;
        check_fanouts("sampling.fanouts", &sampling.fanouts)?;
    }
    if let Some(fanouts) = &config.evaluation.fanouts {
        check_fanouts("evaluation.fanouts", fanouts)?;
    }
    config.link.as_ref().map_or(Ok(()), |l| count("link.negatives", l.negatives, MOST_NEGATIVES))
}

fn check_fanouts(field: &str, fanouts: &Fanouts) -> Result<()> {
    let lists = match fanouts {
        Fanouts::Same(list) => vec![list],
        Fanouts::ByEtype(lists) => lists.values().collect(),
    };
    let mut numbers = lists.into_iter().flatten();
    numbers.try_for_each(|fanout| whole(field, (*fanout).into(), -1, MOST_ROWS as i128))
}

/// Checks the numbers of workers and threads, in training and in prediction.
pub(crate) fn check_workers(resources: &Resources) -> Result<()> {
    whole("threads", resources.threads as i128, 1, MOST_THREADS as i128)?;
    // Workers beyond the number of ranks change nothing.
    whole("resident", resources.resident.unwrap_or(1) as i128, 1, usize::MAX as i128)
}

fn check_model(config: &RunConfig) -> Result<()> {
    let model = &config.model;
    whole("model.layers", model.layers as i128, 1, MOST_LAYERS as i128)?;
    whole("model.hidden", model.hidden.into(), 1, MOST_WIDTH.into())?;
    if !(0.0..1.0).contains(&model.dropout) {
        return Err(out_of_range("model.dropout", model.dropout, "at least 0 and below 1"));
    }
    model.kind.check()?;
    check_parameters(config)
}

/// Checks that the weights between hidden layers, whose sizes are known without the data, fit into memory.
fn check_parameters(config: &RunConfig) -> Result<()> {
    let model = &config.model;
    let width = model.hidden as u64 * model.kind.facts().heads as u64;
    let inner = (model.layers as u64).saturating_sub(2);
    let bytes = width.saturating_mul(width).saturating_mul(4).saturating_mul(inner);
    match free_memory() {
        Some(free) if bytes > free => {
            let problem = format!(
                "{inner} layers of width {width} have {} of weights, but only {} of memory are free",
                size(bytes),
                size(free)
            );
            Err(Error::config("model.hidden", problem)
                .with_hint("lower ‹model.hidden›, ‹model.heads› or ‹model.layers›"))
        }
        _ => Ok(()),
    }
}

fn check_rates(config: &RunConfig) -> Result<()> {
    let (lr, weight_decay, momentum) = match config.optimizer {
        OptimizerConfig::Sgd { lr, momentum, weight_decay } => (lr, weight_decay, momentum),
        OptimizerConfig::Adam { lr, weight_decay }
        | OptimizerConfig::AdamW { lr, weight_decay } => (lr, weight_decay, 0.0),
    };
    rate("optimizer.lr", lr)?;
    rate("optimizer.weight_decay", weight_decay)?;
    rate("optimizer.momentum", momentum)?;
    config.schedule.check()?;
    match config.schedule {
        Schedule::Constant => Ok(()),
        Schedule::Step { gamma, .. } => rate("schedule.gamma", gamma),
        Schedule::Cosine { min, .. } | Schedule::Plateau { min, .. } => rate("schedule.min", min),
    }
}

fn rate(field: &str, value: f64) -> Result<()> {
    if (0.0..=LARGEST_RATE).contains(&value) {
        return Ok(());
    }
    Err(out_of_range(field, value, "from 0 to 1e6"))
}

fn whole(field: &str, value: i128, least: i128, most: i128) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let range = if value < least { format!("{least} or more") } else { format!("{most} or less") };
    Err(out_of_range(field, value, &range))
}

fn out_of_range(field: &str, value: impl std::fmt::Display, range: &str) -> Error {
    Error::config(field, format!("must be {range}, not {value}"))
}
