//! The settings of a run, and which of them are not the defaults.

use std::collections::BTreeMap;
use std::path::Path;

use super::config::{RunConfig, toml_problem};
use crate::nn::{ModelConfig, ModelKind};
use crate::words::error::{Error, Result};
use crate::words::size::{parse_size, size};

/// Settings by their dotted names, with their values for people.
type SettingValues = BTreeMap<String, String>;

/// The configuration of a run.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) settings: SettingValues,
    /// The settings of the same run with defaults; empty if this version cannot read the configuration.
    pub(crate) defaults: SettingValues,
    /// The configuration as a value; `None` if this version cannot read it.
    pub(crate) run: Option<RunConfig>,
    /// The memory budget in bytes, if there is one.
    pub(crate) budget: Option<u64>,
}

impl Configuration {
    /// Reads the text of a file.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self> {
        let table: toml::Table = toml::from_str(text).map_err(|e| {
            Error::input(path, "", format!("is not TOML: {}", toml_problem(text, &e)))
        })?;
        let budget = budget_of(&table);
        let run = RunConfig::from_toml(path, text).ok();
        let defaults = run.as_ref().and_then(|run| toml::Table::try_from(defaults_of(run)).ok());
        let mut defaults = defaults.as_ref().map_or_else(SettingValues::new, settings);
        // It depends on the memory that is free at the moment.
        defaults.remove("memory_budget");
        Ok(Configuration { settings: settings(&table), defaults, run, budget })
    }
}

/// The run with these files and this kind of model, and defaults for all else.
fn defaults_of(run: &RunConfig) -> RunConfig {
    let kind = ModelKind::named(run.model.kind.spec().name).unwrap_or(run.model.kind);
    RunConfig {
        model: ModelConfig { kind, ..ModelConfig::default() },
        ..RunConfig::new(&run.part_json, &run.out)
    }
}

fn settings(table: &toml::Table) -> SettingValues {
    let mut settings = SettingValues::new();
    flatten("", table, &mut settings);
    if let Some(budget) = budget_of(table) {
        settings.insert("memory_budget".to_owned(), size(budget));
    }
    settings
}

fn flatten(prefix: &str, table: &toml::Table, settings: &mut SettingValues) {
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

/// The budget in bytes, if there is one.
fn budget_of(table: &toml::Table) -> Option<u64> {
    let bytes = parse_size(table.get("memory_budget")?.as_str()?).ok()?;
    (bytes > 0).then_some(bytes)
}
