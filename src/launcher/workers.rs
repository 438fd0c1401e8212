//! One worker per partition, with the folder and the control file they share.

use std::sync::Arc;

use super::run_folder::{RunFolder, sweep};
use super::supervise::supervise;
use crate::data::dgl::PartitionConfig;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::worker::{RunConfig, Surroundings};

/// Runs `work` in one process per partition, with the folders, slots and threads of `config`; see
/// [`supervise`] for what it gives.
pub(super) fn run_workers(
    config: &RunConfig,
    partitions: &PartitionConfig,
    work: &dyn Fn(Surroundings<'_>) -> Result<()>,
    on_event: &mut dyn FnMut(Event, u64) -> Result<()>,
) -> Result<()> {
    if config.threads == 0 {
        return Err(Error::config("threads", "at least one thread is needed"));
    }
    sweep(&config.spill_dir);
    let world_size = partitions.book().num_parts();
    let (folder, control) = RunFolder::create(&config.spill_dir, world_size, config.resident)?;
    let control = Arc::new(control);
    let work = |rank, events: &_| {
        let folder = folder.path();
        let threads = config.threads;
        work(Surroundings { rank, control: &control, folder, events, partitions, threads })
    };
    supervise(&control, config.memory_budget.bytes(), &work, on_event)
}
