//! TensorBoard events of a run, if requested.

use std::path::PathBuf;

use super::event_file::EventFile;
use crate::error::Result;
use crate::run::config::RunConfig;

/// The TensorBoard file of a run. Like other results, it is created when the first epoch is complete.
pub(in crate::run) struct RunEvents {
    path: Option<PathBuf>,
    overwrite: bool,
    resumed_after: Option<u32>,
    file: Option<EventFile>,
}

impl RunEvents {
    /// The events of a run, or nothing if its configuration names no folder for them.
    pub(in crate::run) fn of(
        config: &RunConfig,
        overwrite: bool,
        resumed_after: Option<u32>,
    ) -> Result<Self> {
        let path = config.tensorboard.as_ref().map(|folder| EventFile::path(folder, &config.out));
        if let (Some(path), None, false) = (&path, resumed_after, overwrite) {
            EventFile::check_new(path)?;
        }
        Ok(RunEvents { path, overwrite, resumed_after, file: None })
    }

    /// Adds the numbers of a line of `metrics.jsonl`.
    pub(in crate::run) fn line(&mut self, line: &str) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let file = match (self.file.take(), self.resumed_after) {
            (Some(file), _) => file,
            (None, Some(epoch)) => EventFile::resume(path, epoch)?,
            (None, None) => EventFile::create(path, self.overwrite)?,
        };
        self.file.insert(file).line(line)
    }
}
