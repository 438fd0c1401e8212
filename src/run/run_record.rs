//! The files that a training run writes into its results folder while it works.

use std::path::PathBuf;
use std::sync::Arc;

use super::json_file::write_json;
use super::launch::last_checkpoint::keep_checkpoint;
use super::launch::results_folder::{CONFIG, METRICS, PLAN, ResultsFolder};
use super::plan::PlannedRun;
use super::tensorboard::EventFile;
use super::turns_file::TurnsFile;
use crate::engine::comm::machines::Launched;
use crate::engine::launch::EventRecord;
use crate::event::{Event, MetricsFile};
use crate::io::AtomicFile;
use crate::run::config::RunConfig;
use crate::words::error::Result;

/// The record of a run: its metrics, checkpoints, turns, and events for TensorBoard.
pub(super) struct RunRecord {
    pub(super) config: RunConfig,
    /// The folder of results, if the run has one.
    pub(super) folder: Option<Arc<ResultsFolder>>,
    /// Whether files of an earlier run are replaced.
    pub(super) overwrite: bool,
    /// The epoch of the checkpoint that the run resumes from.
    pub(super) resumed_after: Option<u32>,
    /// The plan of the run, if there is one.
    pub(super) planned: Option<PlannedRun>,
    /// Whether the last checkpoint is damaged; if so, the one before it is kept.
    pub(super) last_is_damaged: bool,
    /// Whether a run that continues has recorded its configuration.
    pub(super) configured: bool,
    /// The place of TensorBoard's file, if the run has one.
    pub(super) tensorboard: Option<PathBuf>,
    pub(super) turns: TurnsFile,
    /// The files of metrics, once the run has metrics.
    pub(super) files: Option<MetricsFiles>,
}

/// The files to which each line of metrics is added.
pub(super) struct MetricsFiles {
    metrics: MetricsFile,
    /// TensorBoard's file, if the run has one.
    events: Option<EventFile>,
}

impl EventRecord for RunRecord {
    fn event(&mut self, event: &Event, peak: u64) -> Result<()> {
        match event {
            Event::Epoch(report) => self.line(|metrics| metrics.epoch(report, peak)),
            Event::Evaluation(report) => self.line(|metrics| metrics.evaluation(report, peak)),
            Event::Checkpoint(epoch) => {
                // A checkpoint must not be ahead of the metrics after a power loss, either.
                self.files.as_ref().map_or(Ok(()), |files| files.metrics.sync())?;
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
        self.write_config()
    }

    fn write_config(&self) -> Result<()> {
        AtomicFile::write(&self.config.out.join(CONFIG), self.config.to_toml()?.as_bytes())
    }

    /// Adds a line to the metrics, and its numbers to the events for TensorBoard.
    fn line(&mut self, write: impl FnOnce(&mut MetricsFile) -> Result<()>) -> Result<()> {
        let files = match self.files.take() {
            Some(files) => files,
            None => self.open()?,
        };
        let MetricsFiles { metrics, events } = self.files.insert(files);
        write(metrics)?;
        events.as_mut().map_or(Ok(()), |events| events.line(metrics.last_line()))
    }

    /// Opens the files of metrics; only now do the run's files replace those of an earlier run.
    fn open(&self) -> Result<MetricsFiles> {
        let out = &self.config.out;
        if let (Some(folder), None) = (&self.folder, self.resumed_after) {
            folder.clear()?;
        }
        self.write_config()?;
        if let Some(planned) = self.planned {
            write_json(&out.join(PLAN), &planned)?;
        }
        let (path, place) = (out.join(METRICS), self.tensorboard.as_deref());
        let (metrics, events) = match self.resumed_after {
            Some(epoch) => (
                MetricsFile::resume(&path, epoch)?,
                place.map(|place| EventFile::resume(place, epoch)),
            ),
            None => (
                MetricsFile::create(&path)?,
                place.map(|place| EventFile::create(place, self.overwrite)),
            ),
        };
        Ok(MetricsFiles { metrics, events: events.transpose()? })
    }
}
