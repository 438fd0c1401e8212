//! The records in a run's folder.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::event::RecordedTurns;
use crate::io::read_input;
use crate::prepare::import::class_names_beside;

/// Names of the files in a run's folder.
#[derive(Debug, Clone, Copy)]
pub struct RunFiles<'a> {
    /// Configuration.
    pub config: &'a str,
    /// Metrics, line by line.
    pub metrics: &'a str,
    /// Turns of an epoch.
    pub turns: &'a str,
    /// The plan of the run.
    pub plan: &'a str,
}

/// A run, as its folder records it.
#[derive(Debug)]
pub struct RunData {
    /// Name for people: the folder's, longer where several runs have the same.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// The lines of epochs.
    pub(super) epochs: Vec<Value>,
    /// The line of the last evaluation.
    pub(super) evaluation: Option<Value>,
    /// Settings by their dotted names; empty for a user's program.
    pub(super) settings: BTreeMap<String, String>,
    /// The memory budget in bytes, if there is one.
    pub(super) budget: Option<f64>,
    pub(super) turns: Option<RecordedTurns>,
    pub(super) plan: Option<PlannedBytes>,
    /// Names of the classes; empty if they have none, or the graph is gone.
    pub(super) class_names: Vec<String>,
}

/// The plan of an epoch, in bytes.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct PlannedBytes {
    pub(super) written: f64,
    pub(super) read: f64,
    /// A lower bound for any schedule, where one is known.
    pub(super) bound: Option<f64>,
}

impl RunData {
    /// Reads a run's folder. Lines that a killed run has cut short are left out.
    ///
    /// # Errors
    /// If it is not the folder of a run, or a file cannot be read.
    pub fn read(folder: &Path, files: RunFiles<'_>) -> Result<Self> {
        let metrics = folder.join(files.metrics);
        let text = read_input(&metrics).map_err(|e| {
            Error::unreadable(&metrics, &e).with_hint("name folders that training runs wrote")
        })?;
        let lines: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let (epochs, others): (Vec<Value>, Vec<Value>) =
            lines.into_iter().partition(|line| line["event"] == "epoch");
        let evaluation = others.into_iter().rfind(|line| line["event"] == "evaluation");
        let config = optional(&folder.join(files.config))?;
        let config: Option<toml::Table> = match &config {
            None => None,
            Some(text) => Some(toml::from_str(text).map_err(|e| {
                Error::input(&folder.join(files.config), "", format!("is not TOML: {e}"))
            })?),
        };
        let mut settings = BTreeMap::new();
        if let Some(config) = &config {
            flatten("", config, &mut settings);
        }
        let graph = settings.get("part_json").map(Path::new);
        // The names are those of one type's classes.
        let targets = config.as_ref().and_then(|config| config.get("relations")?.get("target"));
        let one_type = !targets.is_some_and(toml::Value::is_array);
        let class_names = graph.filter(|_| one_type).map_or(Ok(Vec::new()), class_names_beside)?;
        let budget = config.as_ref().and_then(|config| budget_of(config.get("memory_budget")?));
        let name = folder.file_name().map_or_else(
            || folder.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        Ok(RunData {
            name,
            folder: folder.to_owned(),
            epochs,
            evaluation,
            settings,
            budget,
            turns: recorded(&folder.join(files.turns))?,
            plan: recorded(&folder.join(files.plan))?,
            class_names,
        })
    }

    /// The values of a field by epoch, without those that are not finite.
    pub(super) fn values(&self, field: &str) -> Vec<(f64, f64)> {
        let points = self.epochs.iter().filter_map(|line| {
            let point = (line["epoch"].as_f64()?, line[field].as_f64()?);
            (point.0.is_finite() && point.1.is_finite()).then_some(point)
        });
        points.collect()
    }
}

/// The text of a file that need not exist.
fn optional(path: &Path) -> Result<Option<String>> {
    match read_input(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::unreadable(path, &e)),
    }
}

/// The content of a JSON file that earlier versions do not write.
fn recorded<T: for<'d> Deserialize<'d>>(path: &Path) -> Result<Option<T>> {
    let Some(text) = optional(path)? else { return Ok(None) };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|e| Error::input(path, "", format!("is damaged: {e}")))
}

fn flatten(prefix: &str, table: &toml::Table, settings: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&name, inner, settings),
            toml::Value::String(text) => {
                settings.insert(name, text.clone());
            }
            other => {
                settings.insert(name, other.to_string());
            }
        }
    }
}

/// The budget in bytes, in whatever form the configuration holds it.
fn budget_of(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(bytes) => Some(*bytes as f64),
        toml::Value::Float(bytes) => Some(*bytes),
        toml::Value::String(text) => crate::event::parse_size(text).ok().map(|bytes| bytes as f64),
        toml::Value::Table(table) => table.values().find_map(budget_of),
        _ => None,
    }
    .filter(|bytes| *bytes > 0.0)
}
