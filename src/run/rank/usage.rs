//! The resources of a rank, measured in runs that a plan is made from.

use std::sync::Arc;

use super::setup::Surroundings;
use crate::error::{Error, Result};
use crate::event::{Event, Usage};
use crate::io::{MeteredStorage, Storage};
use crate::platform::give_memory_back;
use crate::platform::{peak_anonymous_bytes, reset_peak};

/// The storage of a rank whose disk use is measured.
pub(super) fn metered(
    storage: Arc<dyn Storage>,
    here: Surroundings<'_>,
) -> Result<Arc<dyn Storage>> {
    let Surroundings { rank, control, folder, .. } = here;
    let metered = MeteredStorage::new(storage, folder, rank, control.num_ranks());
    Ok(Arc::new(metered.map_err(|e| Error::io("measure", folder, e))?))
}

/// Does a rank's work and reports what it took.
///
/// # Errors
/// If `work` fails, the ledger cannot be read, or the launcher is gone (`Io`).
pub fn measured(
    here: Surroundings<'_>,
    work: impl FnOnce(Surroundings<'_>) -> Result<()>,
) -> Result<()> {
    let Surroundings { rank, folder, .. } = here;
    // Memory that the launcher has freed, and left to this process, does not count as its own.
    give_memory_back();
    let before = reset_peak();
    work(here)?;
    // Where the system does not report memory, the plan has no numbers for it.
    let memory = before.zip(peak_anonymous_bytes());
    let memory = memory.map_or(0, |(before, peak)| peak.saturating_sub(before));
    let disk = MeteredStorage::peak(folder).map_err(|e| Error::io("measure", folder, e))?;
    here.events.send(Event::Usage(Usage { rank, memory, disk }))
}
