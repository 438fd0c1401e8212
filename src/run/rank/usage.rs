//! Resources that a rank uses, measured for plans.

use std::cell::Cell;
use std::rc::Rc;

use super::setup::Surroundings;
use crate::event::{Event, Usage};
use crate::io::DiskMeter;
use crate::platform::{Pages, Rollup, give_memory_back, peak_anonymous_bytes, reset_peak};
use crate::words::error::{Error, Result};

/// Runs a rank's work and reports its memory, if `frees`, bytes and time. Otherwise the rank keeps freed memory, which
/// takes less time.
///
/// # Errors
/// If `work` fails, the ledger cannot be read, or the launcher is gone (`Io`).
pub fn measured(
    here: Surroundings<'_>,
    frees: bool,
    work: impl FnOnce(Surroundings<'_>) -> Result<()>,
) -> Result<()> {
    let usage = if frees {
        measure_memory(here, work)?
    } else {
        work(here)?;
        Usage::default()
    };
    let Surroundings { rank, folder, .. } = here;
    let disk = DiskMeter::peak(folder).map_err(|e| Error::io("measure", folder, e))?;
    here.events.send(Event::Usage(Usage { rank, disk, ..usage }))
}

/// Runs a rank's work and measures its memory; `rank` and `disk` stay 0.
fn measure_memory(
    here: Surroundings<'_>,
    work: impl FnOnce(Surroundings<'_>) -> Result<()>,
) -> Result<Usage> {
    // Memory that the launcher had freed before the fork does not count as this process's own.
    give_memory_back();
    let before = reset_peak();
    let waiting = Rc::new(Cell::new(0));
    work(Surroundings { waiting: Some(&waiting), ..here })?;
    // If the system does not report memory, the plan has no numbers for it.
    let peak = peak_anonymous_bytes("self");
    let before = before.or(peak).unwrap_or(0);
    let now = Rollup::of("self");
    let own = now.bytes("Anonymous:").saturating_sub(before);
    let changed = now.bytes("Private_Dirty:").saturating_sub(own);
    Ok(Usage {
        memory: peak.unwrap_or(0).saturating_sub(before),
        waiting: waiting.get().saturating_sub(before) + changed,
        files: Pages::of("self").unwrap_or_default().files,
        ..Usage::default()
    })
}
