//! Measurement of the disk, while stand-ins are trained.

use std::io::Write;

use super::aside::{Aside, failed};
use crate::error::Result;
use crate::io::{DiskRate, decode, encode};
use crate::run::config::RunConfig;
use crate::run::launch::bounds::rate;

/// A process that measures the speed of the run's disk. Waiting for a disk takes no processor time, so the plan
/// continues meanwhile.
pub(super) struct DiskProbe(Aside);

impl DiskProbe {
    /// Starts the measurement.
    pub(super) fn start(run: &RunConfig) -> Result<Self> {
        let aside =
            Aside::start("a process that measures the disk", &run.spill_dir, |mut link| {
                link.write_all(&encode(&rate(&run.spill_dir, run.io))?).map_err(failed)
            })?;
        Ok(DiskProbe(aside))
    }

    /// The measured rates; `None` if they cannot be measured.
    pub(super) fn rate(self) -> Result<Option<DiskRate>> {
        match self.0.answer()? {
            answer if answer.is_empty() => Ok(None),
            answer => decode(&answer),
        }
    }
}
