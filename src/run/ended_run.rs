//! The end of a run, as its folder records it.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::json_file::{read_json, read_metrics, write_json};
use super::launch::last_checkpoint::open_last;
use super::launch::results_folder::{CONFIG, END};
use crate::run::config::RunConfig;
use crate::train::Checkpoint;
use crate::words::error::{Error, ErrorKind, Result};

/// The kind of a run's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The run has completed its work.
    Done,
    /// A signal ended the run.
    Interrupted,
    /// An error ended the run.
    Failed,
    /// The loss or the weights were not finite; a resumed run would diverge again.
    Diverged,
    /// No end is recorded: the run was killed, its disk was full, or the machine lost power.
    Killed,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedRun {
    /// How the run ended.
    pub ending: Ending,
    /// Number of complete epochs.
    pub epoch: u32,
    /// Number of epochs that the run was configured for.
    pub epochs: u32,
    /// The epoch of the last checkpoint.
    pub saved: Option<u32>,
    /// The error's message, in which fields of configurations are marked.
    pub error: Option<String>,
    /// The error's remedy.
    pub hint: Option<String>,
    /// The time of the end, in seconds since 1970. Earlier versions record neither it nor the duration.
    pub ended: Option<u64>,
    /// The duration in seconds, with the time before the run was resumed.
    pub seconds: Option<f64>,
}

impl EndedRun {
    /// The record of a run that ends now, with this result.
    pub(super) fn new(
        result: &Result<()>,
        config: &RunConfig,
        epoch: u32,
        saved: Option<u32>,
        seconds: f64,
    ) -> Self {
        let error = result.as_ref().err();
        let ending = match error {
            None => Ending::Done,
            Some(error) => match error.kind() {
                ErrorKind::Interrupted => Ending::Interrupted,
                ErrorKind::Diverged => Ending::Diverged,
                _ => Ending::Failed,
            },
        };
        let failed = error.filter(|_| ending != Ending::Interrupted);
        EndedRun {
            ending,
            epoch,
            epochs: config.epochs,
            saved,
            error: failed.map(Error::marked),
            hint: failed.and_then(Error::marked_hint).map(str::to_owned),
            ended: SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs()),
            seconds: Some(seconds),
        }
    }

    /// Writes the record into the folder of the run.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        write_json(&folder.join(END), self)
    }

    /// Reads the record of a run's folder; `None` if the folder does not belong to a run.
    ///
    /// # Errors
    /// If a file cannot be read, or is damaged.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        if let Some(recorded) = read_json(&folder.join(END))? {
            return Ok(Some(recorded));
        }
        let config = folder.join(CONFIG);
        let Ok(text) = fs::read_to_string(&config) else { return Ok(None) };
        let epochs = RunConfig::from_toml(&config, &text)?.epochs;
        let lines = read_metrics(folder).unwrap_or_default();
        let complete = lines.iter().filter_map(|line| u32::try_from(line["epoch"].as_u64()?).ok());
        let epoch = complete.max().unwrap_or(0);
        let saved = open_last(folder, |path| Checkpoint::open(&path)).ok();
        let saved = saved.map(|(checkpoint, _)| checkpoint.progress.epoch);
        let ending = Ending::Killed;
        let (error, hint, ended, seconds) = (None, None, None, None);
        Ok(Some(EndedRun { ending, epoch, epochs, saved, error, hint, ended, seconds }))
    }
}

/// The command that continues the run of a folder.
pub fn resume_command(folder: &Path) -> String {
    let folder = folder.display().to_string().replace('\'', r"'\''");
    format!("sar-single ‹resume='{folder}'›")
}
