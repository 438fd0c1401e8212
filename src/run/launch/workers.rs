//! Worker processes, one per partition, with the folder and the control file that they share.

use std::sync::Arc;

use super::bounds;
use super::governor::Limits;
use super::reservation::reserve;
use super::supervise::supervise;
use super::threads::capped;
use crate::engine::spill_dir::{RunFolder, sweep};
use crate::error::Result;
use crate::event::{Event, size};
use crate::formats::dgl::PartitionSummary;
use crate::formats::dgl::config::PartitionConfig;
use crate::platform::share_one_heap;
use crate::platform::signals;
use crate::platform::{MemoryGroups, machine_memory};
use crate::run::config::RunConfig;
use crate::run::config::limits;
use crate::run::rank::Surroundings;

/// A run on a small graph that stands for a larger one.
#[derive(Debug, Clone, Copy)]
pub(in crate::run) struct StandIn {
    /// Size of the graph relative to the one it stands for.
    pub(in crate::run) scale: f64,
    /// Bytes that each waiting rank keeps, from the start.
    pub(in crate::run) share: u64,
}

/// Runs `work` in one process per partition, with the folders, slots and threads of `config`, and with `planned` bytes of disk
/// reserved for its files; returns the result of [`supervise`].
pub(in crate::run) fn run_workers(
    config: &RunConfig,
    partitions: &PartitionConfig,
    stand_in: Option<StandIn>,
    planned: Option<u64>,
    work: &dyn Fn(Surroundings<'_>) -> Result<()>,
    on_event: &mut dyn FnMut(Event, u64) -> Result<()>,
) -> Result<()> {
    limits::check_workers(config)?;
    // A rank allocates memory for the nodes of all partitions, so the sizes of all must agree with the JSON file before that.
    let world_size = partitions.book().num_parts();
    for part in 0..world_size {
        PartitionSummary::open(partitions, part)?;
    }
    signals::check()?;
    let threads = capped(config.threads);
    if threads < config.threads {
        let asked = config.threads;
        on_event(
            Event::Note(format!("{asked} threads were requested; a worker gets {threads}")),
            0,
        )?;
    }
    let limit = MemoryGroups::of_this_process().limit();
    let limit = limit.filter(|limit| machine_memory().is_some_and(|machine| *limit < machine));
    if let Some(limit) = limit.filter(|limit| config.memory_budget.bytes() > *limit) {
        let budget = size(config.memory_budget.bytes());
        let limit = size(limit);
        let note = format!(
            "the memory budget is {budget}, but the container's limit is {limit}: the kernel kills a worker that exceeds it"
        );
        on_event(Event::Note(note), 0)?;
    }
    share_one_heap();
    for error in sweep(&config.spill_dir).failed {
        on_event(Event::Note(format!("left by a killed run: {error}")), 0)?;
    }
    let (run_folder, control) =
        RunFolder::create(&config.spill_dir, world_size, config.resident.unwrap_or(1))?;
    let control = Arc::new(control);
    control.set_parked_share(stand_in.map_or(0, |stand_in| stand_in.share));
    let stand_in = stand_in.map(|stand_in| stand_in.scale);
    // A stand-in is small, so its disk need not be probed.
    let io = if stand_in.is_some() { config.io } else { bounds::io_mode(config, partitions) };
    let folder = run_folder.path();
    // After the probe, which writes files of its own.
    let reserve = match planned {
        Some(bytes) => reserve(folder, bytes, &mut |event| on_event(event, 0))?,
        None => None,
    };
    let work = |rank, events: &_| {
        work(Surroundings {
            rank,
            control: &control,
            folder,
            events,
            partitions,
            threads,
            io,
            stand_in,
            reserve: reserve.as_deref(),
        })
    };
    let limits = Limits {
        budget: config.memory_budget.bytes(),
        resident: config.resident,
        all_fits: bounds::fits(config, partitions),
    };
    supervise(&control, limits, config.checkpoint_every.is_some(), &work, on_event)
}
