//! From a run's configuration to its plan.

use super::advice::advice;
use super::aside::Aside;
use super::bound::bound;
use super::forecast::{EpochForecast, Forecast, forecast};
use super::graph_sizes::GraphSizes;
use super::report::{DiskPlan, EpochPlan, MemoryPlan, Plan};
use crate::engine::launch::{AssumedGrowth, Limits, TurnGrowth};
use crate::engine::turns::given_out;
use crate::io::DiskRate;
use crate::platform::free_space;
use crate::run::config::{MemoryBudget, RunConfig, check, check_initial, relations};
use crate::run::launch::bounds::{fits, rate};
use crate::words::error::{Error, Result};

/// Fraction of an epoch's bytes below which the time for the disk is ignored.
const NEGLIGIBLE: f64 = 0.001;

/// Predicts the memory, disk, bytes and time of a full-graph training run. Trains the model on small stand-ins for the
/// graph in `config.spill_dir`, which takes a few seconds.
///
/// # Errors
/// If the run trains on sampled neighbourhoods, its data do not exist, or its configuration is wrong.
pub fn plan(config: &RunConfig) -> Result<Plan> {
    if config.sampling.is_some() {
        let problem = "only training on the full graph can be planned";
        let field = if config.link.is_some() { "link" } else { "sampling" };
        return Err(Error::config(field, problem).with_hint("leave it out"));
    }
    check(config)?;
    check_initial(config)?;
    let partitions = config.open_graph()?;
    if relations::of_run(config, &partitions)?.is_some() {
        let problem = "a model with a layer per edge type cannot be planned";
        return Err(Error::config("part_json", problem)
            .with_hint("use a graph with features of one width on every node type"));
    }
    // A run that certainly fits into its budget is unlikely to write to the disk.
    let probe = if fits(config, &partitions) { None } else { Some(disk_probe(config)?) };
    let sizes = GraphSizes::read(config, &partitions)?;
    let forecast = forecast(config, &sizes)?;
    let resident = config.resident.unwrap_or(1);
    let planned = forecast.memory.least(resident);
    let budget = match config.memory_budget {
        MemoryBudget::Min => None,
        MemoryBudget::Bytes(bytes) => Some(bytes),
    };
    let limits = Limits {
        budget: budget.unwrap_or(0),
        uncounted: 0,
        resident: config.resident,
        assumed: AssumedGrowth {
            training: TurnGrowth::Bytes(planned.another),
            pass: TurnGrowth::Unknown,
        },
    };
    let (resident, all) = limits.residents(sizes.ranks.len(), planned);
    let share = given_out(limits.budget.saturating_sub(all)) / sizes.ranks.len() as u64;
    let epoch = match share {
        0 => forecast.epoch,
        _ => forecast.keeping(config, &sizes, share)?,
    };
    let kept = share * sizes.ranks.len() as u64;
    let memory = MemoryPlan { least: planned.all, budget, kept };
    let mut plan = compose(config, &sizes, &forecast, memory, &epoch, resident);
    plan.epoch.disk_s = disk_seconds(config, &epoch, probe)?;
    plan.advice = advice(config, &sizes, &forecast, &plan);
    Ok(plan)
}

/// A process that measures the rates of the run's disk, while stand-ins are trained: waiting for a disk takes no
/// processor time.
fn disk_probe(config: &RunConfig) -> Result<Aside<Option<DiskRate>>> {
    let RunConfig { spill_dir, io, .. } = config;
    Aside::start("a process that measures the disk", spill_dir, |_| Ok(rate(spill_dir, *io)))
}

/// Seconds in which the disk moves an epoch's uncached bytes; 0 if the disk cannot be measured.
fn disk_seconds(
    config: &RunConfig,
    epoch: &EpochForecast,
    probe: Option<Aside<Option<DiskRate>>>,
) -> Result<f64> {
    let EpochForecast { written, read, cached, .. } = *epoch;
    let around = (1.0 - cached / (written + read).max(1.0)).max(0.0);
    // A run that moves almost nothing to the disk does not wait for it.
    if around <= NEGLIGIBLE {
        return Ok(0.0);
    }
    let disk = match probe {
        Some(probe) => probe.answer()?.flatten(),
        None => rate(&config.spill_dir, config.io),
    };
    Ok(disk.map_or(0.0, |disk| around * (written / disk.write + read / disk.read)))
}

/// The plan without the time for the disk and the advice.
fn compose(
    config: &RunConfig,
    sizes: &GraphSizes,
    forecast: &Forecast,
    memory: MemoryPlan,
    epoch: &EpochForecast,
    resident: usize,
) -> Plan {
    let EpochForecast { written, read, written_unpacked, read_unpacked, cached, .. } = *epoch;
    let later = written_unpacked * f64::from(config.epochs.saturating_sub(1));
    let disk = DiskPlan {
        peak: forecast.epoch.disk as u64,
        free: free_space(&config.spill_dir),
        epochs: config.epochs,
        written: (forecast.epoch.written_unpacked + later) as u64,
    };
    let bound = bound(config, sizes, memory.kept as f64);
    Plan {
        partitions: sizes.ranks.len(),
        nodes: sizes.nodes(),
        edges: sizes.edges(),
        halo_rows: sizes.halo_rows(),
        sampled: sizes.sampled,
        memory,
        disk,
        epoch: EpochPlan {
            written: written as u64,
            read: read as u64,
            written_unpacked: written_unpacked as u64,
            read_unpacked: read_unpacked as u64,
            cached: cached as u64,
            moved_at_least_memory: (forecast.epoch.written + forecast.epoch.read) as u64,
            bound,
            compute_s: epoch.seconds,
            disk_s: 0.0,
            resident,
        },
        advice: Vec::new(),
    }
}
