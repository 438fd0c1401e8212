//! Checks that a run will fit, before it starts.

use serde::{Deserialize, Serialize};

use super::advice::{fitting_parts, raise_budget};
use super::bound::bound;
use super::forecast::{Forecast, forecast};
use super::graph_sizes::GraphSizes;
use crate::engine::spill_dir::sweep;
use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::platform::free_space;
use crate::platform::give_memory_back;
use crate::run::config::RunConfig;
use crate::run::launch::bounds::{LARGE, most};
use crate::run::launch::reservation::REMEDY;
use crate::words::error::{Error, ErrorKind, Result, exit};
use crate::words::size::size;

/// Fraction of a forecast of memory that a run certainly needs: forecasts are up to a quarter too high (with all
/// activations kept, or partitions of different sizes). Only runs that certainly do not fit are refused. Other runs end
/// if they exceed the budget.
const CERTAIN: f64 = 0.8;

/// Planned figures of a full-graph run, per epoch, in bytes, if waiting workers keep nothing.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct PlannedRun {
    /// Peak size of all files.
    pub(in crate::run) disk: u64,
    /// Least memory of all processes.
    memory: u64,
    /// Growth of the largest worker in its turn.
    #[serde(skip)]
    pub(in crate::run) growth: u64,
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// Lower bound on bytes written and read for any schedule in the memory budget, if known.
    pub(crate) bound: Option<u64>,
}

/// Reports the needs of a full-graph run, unless they are negligible.
pub(in crate::run) fn check(
    run: &RunConfig,
    partitions: &PartitionConfig,
    observe: &mut dyn FnMut(&Event),
) -> Result<Option<PlannedRun>> {
    // Remove the files of killed runs, so that their disk space is free.
    for error in sweep(&run.spill_dir).failed {
        observe(&Event::Note(format!("left by a killed run: {error}")));
    }
    let budget = run.memory_budget.bytes();
    let free = free_space(&run.spill_dir);
    // Without a budget, nothing is kept, and everything goes to the disk.
    let little = if budget == 0 { LARGE } else { budget };
    let little = little.min(free.unwrap_or(u64::MAX));
    if most(run, partitions).is_none_or(|most| most <= little) {
        return Ok(None);
    }
    // The run itself will report errors in the data.
    let sizes = match GraphSizes::read(run, partitions) {
        Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
        Err(_) => return Ok(None),
        Ok(sizes) => sizes,
    };
    let forecast = match forecast(run, &sizes) {
        Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
        Err(error) if error.exit_code() == exit::OUT_OF_RESOURCES => return Err(error),
        Err(error) => {
            observe(&Event::Note(format!("the run cannot be planned: {error}")));
            return Ok(None);
        }
        Ok(forecast) => forecast,
    };
    let resident = run.resident.unwrap_or(1);
    let least = forecast.memory.bytes(resident, 1);
    if budget > 0 && least as f64 * CERTAIN > budget as f64 {
        let problem = format!(
            "this run needs at least {}, even if waiting workers keep nothing; the memory budget is {}",
            size(least),
            size(budget)
        );
        let hint = remedies(run, &sizes, &forecast, budget);
        return Err(Error::new(ErrorKind::OutOfMemory, problem).with_hint(hint));
    }
    let disk = forecast.epoch.disk as u64;
    if let Some(free) = free.filter(|free| disk > *free) {
        let folder = run.spill_dir.display();
        let problem =
            format!("files of the run take {}, but {folder} has {} free", size(disk), size(free));
        let hint = format!("{REMEDY}{}", narrower(run, &sizes, |f| f.epoch.disk as u64));
        return Err(Error::new(ErrorKind::OutOfDisk, problem).with_hint(hint));
    }
    let may = if budget > 0 { format!(" of {}", size(budget)) } else { " of".to_owned() };
    let free = free.map_or_else(String::new, |free| format!(" ({} free)", size(free)));
    let [written, read] = [forecast.epoch.written, forecast.epoch.read].map(|bytes| bytes as u64);
    observe(&Event::Note(format!(
        "planned: at least {}{may} memory, at most {} of disk{free}",
        size(least),
        size(disk)
    )));
    observe(&Event::Note(format!(
        "planned per epoch: about {:.2} s of computing, {} written and {} read",
        forecast.epoch.seconds,
        size(written),
        size(read)
    )));
    give_memory_back();
    let bound = bound(run, &sizes, budget as f64);
    // A growth of 0 would mean that the run certainly fits.
    let growth = forecast.memory.least(0).another.max(1);
    Ok(Some(PlannedRun { disk, memory: least, growth, written, read, bound }))
}

/// Changes with which the run would fit into the budget.
fn remedies(run: &RunConfig, sizes: &GraphSizes, forecast: &Forecast, budget: u64) -> String {
    let resident = run.resident.unwrap_or(1);
    let least = forecast.memory.bytes(resident, 1);
    let mut remedies = vec![raise_budget(least)];
    let one = forecast.memory.bytes(1, 1);
    if resident > 1 {
        remedies.push(format!("‹resident=1› takes {}", size(one)));
    }
    if let Some((parts, bytes)) = fitting_parts(run, sizes, forecast, budget) {
        remedies.push(format!("{parts} partitions take about {}", size(bytes)));
    }
    let narrower = narrower(run, sizes, |f| f.memory.bytes(resident, 1));
    remedies.join("; ") + &narrower
}

/// Needs of the run with hidden layers of half the width, if it has any.
fn narrower(run: &RunConfig, sizes: &GraphSizes, takes: impl Fn(&Forecast) -> u64) -> String {
    let mut model = run.model.clone();
    model.hidden /= 2;
    if model.hidden < 1 || model.num_graphs() < 2 {
        return String::new();
    }
    let hidden = model.hidden;
    match forecast(&RunConfig { model, ..run.clone() }, sizes) {
        Ok(forecast) => format!("; ‹model.hidden={hidden}› takes {}", size(takes(&forecast))),
        Err(_) => String::new(),
    }
}
