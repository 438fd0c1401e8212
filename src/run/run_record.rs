//! The files that a training run writes into its results folder while it works.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::launch::last_checkpoint::keep_checkpoint;
use super::launch::results_folder::{CONFIG, METRICS, PLAN, ResultsFolder};
use super::plan::PlannedRun;
use super::tensorboard::RunEvents;
use super::turns_file::{TurnsFile, write_json};
use crate::engine::comm::machines::Launched;
use crate::engine::launch::EventRecord;
use crate::error::{Error, Result};
use crate::event::{Event, MetricsFile};
use crate::io::AtomicFile;
use crate::run::config::RunConfig;

/// The record of a run: its metrics, checkpoints, turns, and events for TensorBoard.
pub(super) struct RunRecord {
    pub(super) config: RunConfig,
    /// The folder of results, if the run has one.
    pub(super) folder: Option<Arc<ResultsFolder>>,
    /// The epoch of the checkpoint that the run resumes from.
    pub(super) resumed_after: Option<u32>,
    /// The plan of the run, if there is one.
    pub(super) planned: Option<PlannedRun>,
    /// Whether the last checkpoint is damaged; if so, the one before it is kept.
    pub(super) last_is_damaged: bool,
    /// Whether a run that continues has recorded its configuration.
    pub(super) configured: bool,
    pub(super) tensorboard: RunEvents,
    pub(super) turns: TurnsFile,
    /// The metrics file, once the run has metrics.
    pub(super) metrics: Option<MetricsFile>,
}

impl EventRecord for RunRecord {
    fn event(&mut self, event: &Event, peak: u64) -> Result<()> {
        match event {
            Event::Epoch(report) => self.line(|metrics| metrics.epoch(report, peak)),
            Event::Evaluation(report) => self.line(|metrics| metrics.evaluation(report, peak)),
            Event::Checkpoint(epoch) => {
                // A checkpoint must not be ahead of the metrics after a power loss, either.
                self.metrics.as_ref().map_or(Ok(()), MetricsFile::sync)?;
                keep_checkpoint(&self.config.out, *epoch, self.last_is_damaged)?;
                self.last_is_damaged = false;
                Ok(())
            }
            Event::Turns(of_rank) => self.turns.add(of_rank),
            // Until the first epoch begins, other machines may read the configuration.
            Event::Progress(progress) if progress.epoch > 0 || Launched::here().is_none() => {
                self.configure()
            }
            Event::Batch(_)
            | Event::Log(_)
            | Event::Note(_)
            | Event::Predicted(_)
            | Event::Usage(_)
            | Event::Failed(_)
            | Event::Logged(_)
            | Event::Step
            | Event::Progress(_) => Ok(()),
        }
    }
}

impl RunRecord {
    /// Records the configuration of a run that continues, from which it may be resumed again before its next checkpoint.
    fn configure(&mut self) -> Result<()> {
        if self.resumed_after.is_none() || std::mem::replace(&mut self.configured, true) {
            return Ok(());
        }
        write_config(&self.config, &self.config.out.join(CONFIG))
    }

    /// Adds a line to the metrics, and its numbers to the events for TensorBoard.
    fn line(&mut self, write: impl FnOnce(&mut MetricsFile) -> Result<()>) -> Result<()> {
        let metrics = match self.metrics.take() {
            Some(metrics) => metrics,
            None => self.open()?,
        };
        let metrics = self.metrics.insert(metrics);
        write(metrics)?;
        self.tensorboard.line(metrics.last_line())
    }

    /// Opens the metrics file; only now do the run's files replace those of an earlier run.
    fn open(&self) -> Result<MetricsFile> {
        let out = &self.config.out;
        if let (Some(folder), None) = (&self.folder, self.resumed_after) {
            folder.clear()?;
        }
        write_config(&self.config, &out.join(CONFIG))?;
        if let Some(planned) = self.planned {
            write_json(&out.join(PLAN), &planned)?;
        }
        match self.resumed_after {
            Some(epoch) => MetricsFile::resume(&out.join(METRICS), epoch),
            None => MetricsFile::create(&out.join(METRICS)),
        }
    }
}

/// Writes a run's configuration.
fn write_config(config: &RunConfig, path: &Path) -> Result<()> {
    let file = AtomicFile::create(path)?;
    file.file().write_all(config.to_toml()?.as_bytes()).map_err(|e| Error::io("write", path, e))?;
    file.commit()
}
