//! The records in a run's folder.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;

use super::config::{Relations, RunConfig};
use super::configuration::Configuration;
use super::ended_run::EndedRun;
use super::json_file::{read_json, read_metrics};
use super::launch::results_folder::{CONFIG, METRICS, PLAN, TURNS};
use super::plan::PlannedRun;
use crate::engine::spill_dir::LivingRun;
use crate::event::RecordedTurns;
use crate::formats::dgl::config::PartitionConfig;
use crate::io::read_if_there;
use crate::prepare::import::class_names_beside;
use crate::words::error::{Error, Result};

/// A run, as its folder records it.
#[derive(Debug)]
pub struct RunData {
    /// Name for people: the folder's, longer where several runs have the same.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// The lines of epochs.
    pub(crate) epochs: Vec<Value>,
    /// The line of the last evaluation.
    pub(crate) evaluation: Option<Value>,
    /// The configuration; `None` for a user's program.
    pub(crate) configuration: Option<Configuration>,
    /// The graph, if it is still there.
    pub(crate) graph: Option<PartitionConfig>,
    pub(crate) turns: Option<RecordedTurns>,
    pub(crate) plan: Option<PlannedRun>,
    /// Names of the classes; empty if they have none, or the graph is gone.
    pub(crate) class_names: Vec<String>,
    /// How the run has ended; `None` while it runs, and for a user's program.
    pub(crate) ended: Option<EndedRun>,
    /// Whether the run has not ended.
    pub(crate) is_running: bool,
    /// The time of the last line of metrics, in seconds since 1970.
    pub(crate) measured: Option<u64>,
}

impl RunData {
    /// Reads a run's folder. Lines that a killed run has cut short are left out.
    ///
    /// # Errors
    /// If it is not the folder of a run, or a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        // A run that ends while its folder is read has a page of a running one, which is written again.
        let is_running = LivingRun::find(folder).is_ok();
        let metrics = folder.join(METRICS);
        let lines = match read_metrics(folder) {
            // A run writes its first metrics when its first epoch is complete.
            Err(e) if e.kind() == ErrorKind::NotFound && is_running => Vec::new(),
            read => read.map_err(|e| {
                Error::unreadable(&metrics, &e).with_hint("name folders that training runs wrote")
            })?,
        };
        let (epochs, others): (Vec<Value>, Vec<Value>) =
            lines.into_iter().partition(|line| line["event"] == "epoch");
        let evaluation = others.into_iter().rfind(|line| line["event"] == "evaluation");
        let config = folder.join(CONFIG);
        let text = read_if_there(&config)?;
        let configuration = text.map(|text| Configuration::parse(&config, &text)).transpose()?;
        let json = configuration.as_ref().and_then(|all| all.settings.get("part_json"));
        let json = json.map(Path::new);
        // The names are those of one type's classes.
        let run = configuration.as_ref().and_then(|all| all.run.as_ref());
        let several =
            run.and_then(|run| run.relations.as_ref()).is_some_and(Relations::several_targets);
        let class_names = json.filter(|_| !several).map_or(Ok(Vec::new()), class_names_beside)?;
        let name = folder.file_name().map_or_else(
            || folder.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let modified = fs::metadata(&metrics).and_then(|metadata| metadata.modified()).ok();
        let measured = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(RunData {
            name,
            folder: folder.to_owned(),
            epochs,
            evaluation,
            graph: json.and_then(|json| PartitionConfig::open(json).ok()),
            configuration,
            // Earlier versions do not write them.
            turns: read_json(&folder.join(TURNS))?,
            plan: read_json(&folder.join(PLAN))?,
            class_names,
            ended: if is_running { None } else { EndedRun::read(folder).ok().flatten() },
            is_running,
            measured: measured.map(|time| time.as_secs()),
        })
    }

    /// The values of a field by epoch, without those that are not finite.
    pub(crate) fn values(&self, field: &str) -> Vec<(f64, f64)> {
        let points = self.epochs.iter().filter_map(|line| {
            let point = (line["epoch"].as_f64()?, line[field].as_f64()?);
            (point.0.is_finite() && point.1.is_finite()).then_some(point)
        });
        points.collect()
    }

    /// The configuration as a value, if there is one that this version can read.
    pub(crate) fn config(&self) -> Option<&RunConfig> {
        self.configuration.as_ref()?.run.as_ref()
    }

    /// The memory budget in bytes, if there is one.
    pub(crate) fn budget(&self) -> Option<u64> {
        self.configuration.as_ref()?.budget
    }
}
